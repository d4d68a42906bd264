package proxy

import (
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// However a client leaves, its server process is gone within two seconds, or
// five on a machine that is busy with other tests.
func TestClientsThatVanish(t *testing.T) {
	g := startGateway(t, nil)
	reset := func(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0); conn.Close() }
	for _, test := range []struct {
		name, query string
		leave       func(net.Conn)
	}{
		{"end of file when idle", "", leave},
		{"reset when idle", "", reset},
		{"end of file in a transaction", "BEGIN\x00", leave},
		{"end of file in a query", sleep, leave},
		{"reset in a query", sleep, reset},
		{"reset in the middle of a large result", "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)\x00", reset},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := g.loggedIn(t)
			if test.query != "" {
				b.say('Q', test.query)
				eventually(t, "the server works", func() bool { return g.busy() == 1 })
			}
			test.leave(b.conn)
			within(t, 5*time.Second, "the server process is gone", func() bool { return backends(t, "ann") == 0 })
			eventually(t, "the session is gone", func() bool { return len(g.sessions.on("")) == 0 })
		})
	}
}

// A client that shuts down its sending half still gets its last answer.
func TestHalfClosedClientGetsItsAnswer(t *testing.T) {
	g := startGateway(t, nil)
	b := g.loggedIn(t)
	b.say('Q', "SELECT 1\x00")
	leave(b.conn)
	if got := kinds(b.until('Z')); got != "TDCZ" {
		t.Errorf("answer %s", got)
	}
	if m := b.receive(); m.kind != 0 {
		t.Errorf("then %q", m.kind)
	}
}

func TestNothingIsLeftOfManySessions(t *testing.T) {
	g := startGateway(t, nil)
	cycle := func(n int) {
		for i := range n {
			b := g.loggedIn(t)
			switch i % 3 {
			case 0:
				b.say('X', "")
			case 1:
				b.conn.(*net.TCPConn).SetLinger(0)
			}
			b.conn.Close()
		}
		eventually(t, "every session has ended", func() bool { return len(g.sessions.on("")) == 0 && backends(t, "ann") == 0 })
	}
	cycle(3)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	cycle(60)
	eventually(t, "goroutines and descriptors are as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
	})
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
