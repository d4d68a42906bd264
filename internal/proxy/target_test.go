package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/lab"
	"pglab/internal/testenv"
)

func TestRouting(t *testing.T) {
	g := startGateway(t, nil)
	for _, test := range []struct{ user, database, who, code, hint string }{
		{"ann", "lab", "ann@lab", "", ""},
		{"ann", "ann", "ann@ann", "", ""},
		{"ann", "cluster", "ann@lab", "", ""},
		{"bob", "cluster", "", "42501", ""},
		{"ann", "creating", "", "57P03", ""},
		{"ann", "nowhere", "", "3D000", "There is lab."},
		{"ann", "elsewhere", "", "3D000", ""}, // the server's own words
		{"ann", "broken-router", "", "XX000", "The gateway's log has the reason"},
		// Roles with other salts log in as themselves, each with its own keys.
		{"ann", "same-role", "ann@lab", "", ""},
		{"bob", "same-role", "bob@lab", "", ""},
		{"ann", "by-password", "postgres@lab", "", ""},
		{"ann", "wrong-password", "", "28P01", ""},
		{"ann", "no-password", "", "28000", ""},
	} {
		t.Run(test.user+" on "+test.database, func(t *testing.T) {
			conn, err := pgconn.Connect(t.Context(), g.url(test.user, test.database))
			if test.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				result := conn.ExecParams(t.Context(), whoAmI, nil, nil, nil, nil).Read()
				if result.Err != nil || string(result.Rows[0][0]) != test.who {
					t.Errorf("session is %q, %v", result.Rows, result.Err)
				}
				return
			}
			e, ok := errors.AsType[*pgconn.PgError](err)
			if !ok || e.Code != test.code || e.Severity != "FATAL" || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("error %v, want %s", err, test.code)
			}
		})
	}
	if strings.Contains(psql(t, g.url("ann", "broken-router"), "SELECT 1").Stderr, "dirty secret") {
		t.Error("an internal error reached the client")
	}
}

func TestPsqlShowsHintsOfRefusals(t *testing.T) {
	g := startGateway(t, nil)
	out := psql(t, g.url("ann", "nowhere"), "SELECT 1")
	if out.Code != 2 || !strings.Contains(out.Stderr, `database "nowhere" does not exist`) || !strings.Contains(out.Stderr, "There is lab.") {
		t.Errorf("%+v", out)
	}
}

func TestKeysFollowAChangedPassword(t *testing.T) {
	g := startGateway(t, nil)
	super := engine.Connect(t, "postgres")
	alter := func(secret string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), "DROP ROLE IF EXISTS moving; CREATE ROLE moving LOGIN PASSWORD '"+secret+"'"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the same password, a new salt each time
		alter(password)
		if err := g.connect(t, "moving", "same-role").Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	alter("another")
	if code := pgxCode(t, g.url("moving", "same-role")); code != "28P01" {
		t.Errorf("with the old password: %q", code)
	}
}

// fake is a target behind which stands a function instead of a server.
func fake(t *testing.T, g *gateway, serve func(net.Conn)) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	g.routes["fake"] = func(Role) (Target, error) {
		return Target{Dial: dialer("tcp", ln.Addr().String()), User: "ann", Database: "lab"}, nil
	}
}

func TestTargetsInTrouble(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	fails := func(err error) func(Role) (Target, error) {
		return func(Role) (Target, error) {
			return Target{Dial: func(context.Context) (net.Conn, error) { return nil, err }}, nil
		}
	}
	g := startGateway(t, func(g *gateway, config *Config) {
		config.DialTimeout = 2 * time.Second
		g.routes["refused"] = func(Role) (Target, error) { return Target{Dial: dialer("tcp", closed.Addr().String())}, nil }
		g.routes["no-socket"] = func(Role) (Target, error) { return Target{Dial: dialer("unix", t.TempDir()+"/none")}, nil }
		g.routes["gone"] = fails(lab.NotFound("cluster is gone"))
		g.routes["unavailable"] = fails(lab.Unavailable("pod is being moved"))
		g.routes["unreachable"] = fails(errors.New("no route to host"))
	})
	for database, code := range map[string]string{
		"refused": "57P03", "no-socket": "57P03", "gone": "57P03", "unavailable": "57P03", "unreachable": "08006",
	} {
		_, err := pgconn.Connect(t.Context(), g.url("ann", database))
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || e.Code != code || e.Hint == "" {
			t.Errorf("%s: %v, want %s with a hint", database, err, code)
		}
	}

	for _, test := range []struct {
		name  string
		serve func(net.Conn)
		words string
	}{
		{"cannot fork", func(conn net.Conn) {
			io.WriteString(conn, "Ecould not fork new process for connection: Cannot allocate memory\n\x00")
		}, "could not fork new process"},
		{"hangs up", func(net.Conn) {}, ""},
		{"says nothing", func(conn net.Conn) { io.Copy(io.Discard, conn) }, ""},
		{"is no Postgres", func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") }, ""},
	} {
		fake(t, g, test.serve)
		_, err := pgconn.Connect(t.Context(), g.url("ann", "fake"))
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || e.Code != "08006" || !strings.Contains(e.Detail, test.words) {
			t.Errorf("a server that %s: %v", test.name, err)
		}
	}
	eventually(t, "no session is left", func() bool { return len(g.sessions.on("")) == 0 })
}

func TestServerThatDiesUnderItsSessions(t *testing.T) {
	server := testenv.Postgres(t, 15)
	g := startGateway(t, func(g *gateway, _ *Config) {
		socket := server.SocketDir + "/.s.PGSQL.5432"
		g.routes["mortal"] = func(Role) (Target, error) {
			return Target{Dial: dialer("unix", socket), User: testenv.SuperUser, Database: "postgres"}, nil
		}
	})
	start := func() bare {
		b := bare{t, g.dial(t)}
		b.startup(196608, "user|ann|database|mortal|")
		b.logIn(password)
		return b
	}
	stopped := start()
	server.Stop(t)
	if e := stopped.failure(); e.Code != "57P01" {
		t.Errorf("the session of a server that was stopped got %+v", e)
	}
	if code := pgxCode(t, g.url("ann", "mortal")); code != "57P03" {
		t.Errorf("a login while it is stopped: %q", code)
	}
	server.Restart(t)
	killed := start()
	server.Kill(t)
	if m := killed.receive(); m.kind != 0 && m.kind != 'E' {
		t.Errorf("the session of a server that was killed got %q", m.kind)
	}
	eventually(t, "no session is left", func() bool { return len(g.sessions.on("")) == 0 })
}

func TestEngineThatCannotAnswerForRoles(t *testing.T) {
	g := startGateway(t, nil)
	g.roles.pool.Close()
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|lab|")
	if e := b.failure(); e.Code != "57P03" || e.Hint == "" {
		t.Errorf("got %+v", e)
	}
}
