package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// prepare connects as the superuser, makes the role and the database that
// every server under test has, unless they are there, and returns the version that
// the server reports.
func (r *Runtime) prepare(ctx context.Context, record serverRecord) (version string, err error) {
	conn, err := connect(ctx, record)
	if err != nil {
		return "", fmt.Errorf("connecting to server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", fmt.Errorf("asking server for its version: %w", err)
	}
	bench := pgx.Identifier{lab.BenchUser}.Sanitize()
	database := pgx.Identifier{record.Spec.Name}.Sanitize()
	for _, object := range []struct{ what, probe, name, make string }{
		{"role", "SELECT FROM pg_roles WHERE rolname = $1", lab.BenchUser, "CREATE ROLE " + bench + " LOGIN IN ROLE pg_monitor"},
		{"database", "SELECT FROM pg_database WHERE datname = $1", record.Spec.Name, "CREATE DATABASE " + database + " OWNER " + bench},
	} {
		found, err := conn.Exec(ctx, object.probe, object.name)
		if err == nil && found.RowsAffected() == 0 {
			_, err = conn.Exec(ctx, object.make)
		}
		if err != nil {
			return "", fmt.Errorf("making %s %s: %w", object.what, object.name, err)
		}
	}
	return version, nil
}

// connect retries while the server is still starting up.
func connect(ctx context.Context, record serverRecord) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("")
	if err != nil {
		return nil, err
	}
	// Nothing of the environment counts.
	config.Host, config.Port = record.SocketDir, postgres.Port
	config.User, config.Database, config.Password = lab.SuperUser, "postgres", ""
	config.TLSConfig, config.Fallbacks, config.ValidateConnect = nil, nil, nil
	config.RuntimeParams = map[string]string{"application_name": "pglab"}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, record) }
	for {
		conn, err := pgx.ConnectConfig(ctx, config)
		refused, answered := errors.AsType[*pgconn.PgError](err)
		if err == nil || !answered || refused.Code != pgerrcode.CannotConnectNow {
			return conn, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func dial(ctx context.Context, record serverRecord) (net.Conn, error) {
	path, err := postgres.SocketPath(record.SocketDir)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("dialing server: %w", err)
	}
	return conn, nil
}

// Dial implements lab.Runtime.
func (r *Runtime) Dial(ctx context.Context, ref lab.ServerRef) (net.Conn, error) {
	record, err := r.loadServer(ref)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, record)
	if err != nil && ctx.Err() == nil {
		return nil, lab.Unavailable("server %s does not answer: %w", ref.Name, err)
	}
	return conn, err
}
