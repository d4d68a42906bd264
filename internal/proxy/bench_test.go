package proxy

import (
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Every benchmark runs directly and through the gateway; the difference is
// the gateway's price.
func eachWay(b *testing.B, run func(b *testing.B, url string)) {
	g := startGateway(b, nil)
	b.Run("direct", func(b *testing.B) { run(b, direct("ann", "lab")) })
	b.Run("gateway", func(b *testing.B) { run(b, g.url("ann", "lab")) })
	b.Run("gateway over TLS", func(b *testing.B) { run(b, g.url("ann", "lab", "sslmode=require")) })
}

func BenchmarkLogin(b *testing.B) {
	eachWay(b, func(b *testing.B, url string) {
		for b.Loop() {
			openFor(b, url).Close(context.Background())
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	eachWay(b, func(b *testing.B, url string) {
		conn := openFor(b, url)
		defer conn.Close(context.Background())
		for b.Loop() {
			if err := conn.Exec(b.Context(), "SELECT 1").Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCopyOut(b *testing.B) {
	const rows, width = 100_000, 100
	eachWay(b, func(b *testing.B, url string) {
		conn := openFor(b, url)
		defer conn.Close(context.Background())
		b.SetBytes(rows * (width + 1))
		for b.Loop() {
			if _, err := conn.CopyTo(b.Context(), io.Discard, "COPY (SELECT repeat('x', 100) FROM generate_series(1, 100000)) TO STDOUT"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func openFor(b *testing.B, url string) *pgconn.PgConn {
	b.Helper()
	conn, err := pgconn.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	return conn
}
