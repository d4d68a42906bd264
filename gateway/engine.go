package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/engine"
	"pglab/internal/postgres"
	"pglab/internal/wire"
)

// engineAddress is where the engine is, for us (url) and for users' sessions.
type engineAddress struct {
	url      string // of the database that holds schema lab, as a superuser
	database string // its name there; users always say lab
	external bool   // users' sessions log in there with their own SCRAM keys
	dial     func(context.Context) (net.Conn, error)
}

func embeddedAddress(e *engine.Engine) (engineAddress, error) {
	socket, err := postgres.SocketPath(e.SocketDir())
	if err != nil {
		return engineAddress{}, err
	}
	return engineAddress{
		url:      e.URL(engine.Database),
		database: engine.Database,
		dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}, nil
}

// externalAddress reads --engine just as psql would.
func externalAddress(url string) (engineAddress, error) {
	parsed, err := pgconn.ParseConfig(url)
	if err != nil {
		return engineAddress{}, fmt.Errorf("--engine: %w", err)
	}
	network, address := pgconn.NetworkAddress(parsed.Host, parsed.Port)
	return engineAddress{
		url:      url,
		database: parsed.Database,
		external: true,
		dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil || parsed.TLSConfig == nil {
				return conn, err
			}
			return encrypt(ctx, conn, parsed.TLSConfig)
		},
	}, nil
}

func encrypt(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	session, err := wire.RequestTLS(conn, config)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("encrypting connection to engine: %w", err)
	}
	return session, nil
}
