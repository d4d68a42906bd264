package controller

import (
	"context"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// connect opens a superuser's session on a server under test, through its
// runtime. Nothing of the environment (PGHOST, PGPASSFILE ...) has a say.
func connect(ctx context.Context, runtime lab.Runtime, server lab.ServerRef, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("host=server port=5432 sslmode=disable user=" + lab.SuperUser + " password='' passfile=/dev/null")
	if err != nil {
		return nil, fmt.Errorf("preparing connection to %q: %w", server.Name, err)
	}
	config.Database = database
	config.RuntimeParams = map[string]string{
		"application_name": "pglab",
		// What a cluster's parameters say about time is for its users' sessions.
		"idle_session_timeout": "0",
		"statement_timeout":    "0",
	}
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return runtime.Dial(ctx, server) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to server %q: %w", server.Name, err)
	}
	return conn, nil
}

func (a *attempt) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return connect(ctx, a.runtime, a.server(), database)
}
