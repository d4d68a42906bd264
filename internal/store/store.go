package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is the controller's side of schema lab.
type Store struct {
	pool *pgxpool.Pool
}

// Open connects to the engine at url as the given login, which must be able
// to SET ROLE lab_controller.
func Open(ctx context.Context, url string) (*Store, error) {
	pool, err := openAs(ctx, url, "lab_controller", 12)
	if err != nil {
		return nil, err
	}
	return &Store{pool: pool}, nil
}

// Close closes every connection.
func (s *Store) Close() { s.pool.Close() }

// openAs makes a pool whose sessions act as role. Names are resolved in
// pg_catalog alone: every statement here qualifies what it touches.
func openAs(ctx context.Context, url, role string, connections int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading engine address: %w", err)
	}
	config.MaxConns = connections
	config.MinConns = 2
	config.ConnConfig.RuntimeParams["application_name"] = "pglab " + role
	config.ConnConfig.RuntimeParams["search_path"] = "pg_catalog"
	// A user's open transaction on a row must delay the controller, not hang it.
	config.ConnConfig.RuntimeParams["lock_timeout"] = "2000"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+pgx.Identifier{role}.Sanitize())
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to engine: %w", err)
	}
	return pool, nil
}

// exec runs one statement, again and again while another session's lock or
// snapshot is in its way, until ctx ends.
func (s *Store) exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	var tag pgconn.CommandTag
	err := retry(ctx, func() (err error) {
		tag, err = s.pool.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

// inTx runs fn in a transaction, with the same patience as exec.
func (s *Store) inTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return retry(ctx, func() error { return pgx.BeginFunc(ctx, s.pool, fn) })
}

func retry(ctx context.Context, fn func() error) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := fn()
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// passing reports whether an error is about another session or a restart of
// the engine, so that the same statement may succeed a little later.
func passing(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected, pgerrcode.LockNotAvailable,
			pgerrcode.AdminShutdown, pgerrcode.CrashShutdown, pgerrcode.CannotConnectNow:
			return true
		}
		return false
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || pgconn.SafeToRetry(err)
}
