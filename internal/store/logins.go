package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pglab/internal/lab"
)

// Logins is the gateway's side of schema lab: it may call one function.
type Logins struct {
	pool *pgxpool.Pool
}

// OpenLogins connects to the engine at url as a login that can SET ROLE lab_gateway.
func OpenLogins(ctx context.Context, url string) (*Logins, error) {
	pool, err := openAs(ctx, url, "lab_gateway", 4)
	if err != nil {
		return nil, err
	}
	return &Logins{pool: pool}, nil
}

// Close closes every connection.
func (l *Logins) Close() { l.pool.Close() }

// Login is a role that may come in through the gateway.
type Login struct {
	Role            string
	Verifier        string    // as pg_authid holds it; empty when the role has no password
	ValidUntil      time.Time // zero: for ever
	ConnectionLimit int       // -1: none
	Kind            string    // viewer, operator, admin
}

// Login looks a role up. ErrNotFound for everyone who is not an unprivileged
// login of the lab.
func (l *Logins) Login(ctx context.Context, role string) (Login, error) {
	login := Login{Role: role}
	var verifier *string
	var until *time.Time
	err := l.pool.QueryRow(ctx,
		`SELECT l.verifier, CASE WHEN isfinite(l.valid_until) THEN l.valid_until END, l.connection_limit, l.kind
		   FROM lab_private.login($1) AS l`, role).
		Scan(&verifier, &until, &login.ConnectionLimit, &login.Kind)
	if errors.Is(err, pgx.ErrNoRows) {
		return Login{}, lab.NotFound("role %q is no login of the lab", role)
	}
	if err != nil {
		return Login{}, fmt.Errorf("looking up role %q: %w", role, err)
	}
	if verifier != nil {
		login.Verifier = *verifier
	}
	if until != nil {
		login.ValidUntil = *until
	}
	return login, nil
}
