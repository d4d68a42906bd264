package proxy

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"pglab/internal/testenv"
)

// engine is the real Postgres behind every gateway of these tests: trust on
// its unix socket, SCRAM on TCP.
var engine *testenv.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	engine, err = testenv.Start(15, testenv.TCP(), testenv.Setting("max_connections", "250"), testenv.Setting("wal_level", "logical"))
	if err == nil {
		err = makeRoles()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

const password = "correct horse"

// makeRoles makes logins as CREATE ROLE does, each with a salt of its own.
func makeRoles() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, engine.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connecting to engine: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		CREATE ROLE ann LOGIN PASSWORD '`+password+`';
		CREATE ROLE bob LOGIN PASSWORD '`+password+`';
		CREATE ROLE lone LOGIN PASSWORD '`+password+`' CONNECTION LIMIT 1;
		CREATE ROLE late LOGIN PASSWORD '`+password+`' VALID UNTIL '2001-01-01';
		CREATE ROLE bare LOGIN;
		SET password_encryption = 'md5';
		CREATE ROLE aged LOGIN PASSWORD '`+password+`';
		RESET password_encryption;
		CREATE ROLE "Ünï 'quoted' ""name""" LOGIN PASSWORD '`+password+`';
		GRANT pg_read_all_stats TO ann;
		GRANT CREATE ON SCHEMA public TO ann, bob;
	`)
	if err != nil {
		return fmt.Errorf("making roles: %w", err)
	}
	for _, name := range []string{"lab", "ann"} {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name+" OWNER ann"); err != nil {
			return fmt.Errorf("making database: %w", err)
		}
	}
	return nil
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, condition)
}

func within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
