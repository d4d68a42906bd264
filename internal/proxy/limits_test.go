package proxy

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestSessionsAreLimited(t *testing.T) {
	g := startGateway(t, func(_ *gateway, config *Config) { config.MaxSessions = 2 })
	first, _ := g.loggedIn(t), g.loggedIn(t)
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|lab|")
	b.prove(password)
	b.expect('R')
	if e := b.failure(); e.Code != "53300" || e.Hint == "" {
		t.Errorf("the third session got %+v", e)
	}
	first.say('X', "")
	eventually(t, "a slot is free", func() bool { return len(g.sessions.on("")) == 1 })
	g.loggedIn(t)
}

func TestConnectionLimitOfARole(t *testing.T) {
	g := startGateway(t, nil)
	g.connect(t, "lone", "lab")
	if code := pgxCode(t, g.url("lone", "lab")); code != "53300" {
		t.Errorf("the second session ended in %q, want 53300", code)
	}
	g.connect(t, "ann", "lab")
}

func TestSilentClientsBlockNobody(t *testing.T) {
	g := startGateway(t, func(_ *gateway, config *Config) { config.MaxPending = 50 })
	var silent []net.Conn
	for i := range 200 {
		conn := g.dial(t)
		conn.Write(make([]byte, i%4))
		silent = append(silent, conn)
	}
	started := time.Now()
	if err := g.connect(t, "ann", "lab").Ping(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("login with %d silent clients took %v", len(silent), time.Since(started))
	eventually(t, "the oldest have given way", func() bool { return g.pending.count() <= 50 })
	if _, err := silent[0].Read(make([]byte, 1)); err == nil {
		t.Error("the oldest is still there")
	}
}

func TestLoginHasADeadline(t *testing.T) {
	g := startGateway(t, func(_ *gateway, config *Config) { config.LoginTimeout = 2 * time.Second })
	silent, partly, undecided := bare{t, g.dial(t)}, bare{t, g.dial(t)}, bare{t, g.dial(t)}
	partly.send([]byte{0, 0, 0})
	undecided.startup(196608, "user|ann|database|lab|")
	undecided.expect('R')
	for _, b := range []bare{silent, partly} {
		if m := b.receive(); m.kind != 0 {
			t.Errorf("before a startup message: %q %q", m.kind, m.body)
		}
	}
	if e := undecided.failure(); e.Code != "57014" || !strings.Contains(e.Message, "authentication timeout") {
		t.Errorf("in the middle of a login: %+v", e)
	}
	b := g.loggedIn(t)
	b.say('Q', "SELECT pg_sleep(2.5)\x00")
	if got := kinds(b.until('Z')); got != "TDCZ" {
		t.Errorf("the deadline outlived the login: %s", got)
	}
}

func TestPanicStaysInItsSession(t *testing.T) {
	g := startGateway(t, nil)
	neighbour := g.loggedIn(t)
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|panic|")
	b.prove(password)
	b.expect('R')
	if m := b.receive(); m.kind != 0 {
		t.Errorf("the client got %q", m.kind)
	}
	eventually(t, "the panic is logged with its stack", func() bool {
		return strings.Contains(g.log.String(), "in the router") && strings.Contains(g.log.String(), "goroutine")
	})
	neighbour.say('Q', "SELECT 1\x00")
	if got := kinds(neighbour.until('Z')); got != "TDCZ" {
		t.Errorf("another session got %s", got)
	}
	eventually(t, "its slot is free", func() bool { return len(g.sessions.on("")) == 1 })
}

// brokenConn panics when it is read for the n-th time.
type brokenConn struct {
	net.Conn
	reads atomic.Int32
}

func (c *brokenConn) Read(p []byte) (int, error) {
	if c.reads.Add(1) > 1 {
		panic("in the relay")
	}
	return c.Conn.Read(p)
}

func TestPanicInTheRelayStaysInItsSession(t *testing.T) {
	g := startGateway(t, func(g *gateway, _ *Config) {
		toEngine := g.routes["lab"]
		g.routes["broken"] = func(role Role) (Target, error) {
			target, err := toEngine(role)
			dial := target.Dial
			target.Dial = func(ctx context.Context) (net.Conn, error) {
				conn, err := dial(ctx)
				return &brokenConn{Conn: conn}, err
			}
			return target, err
		}
	})
	neighbour := g.loggedIn(t)
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|broken|")
	b.logIn(password)
	if m := b.receive(); m.kind != 0 {
		t.Errorf("the client got %q", m.kind)
	}
	neighbour.say('Q', "SELECT 1\x00")
	if got := kinds(neighbour.until('Z')); got != "TDCZ" {
		t.Errorf("another session got %s", got)
	}
	eventually(t, "its server process is gone", func() bool { return backends(t, "ann") == 1 })
}

// tired is a listener whose Accept fails at first.
type tired struct {
	net.Listener
	failures atomic.Int32
}

func (l *tired) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptErrorsDoNotEndTheServer(t *testing.T) {
	g := startGateway(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &tired{Listener: ln}
	l.failures.Store(4)
	g.serve(t, l)
	b := bareTo(t, ln.Addr().String())
	b.startup(196608, "user|ann|database|lab|")
	b.logIn(password)
	if n := g.log.count("accept failed"); n != 4 {
		t.Errorf("%d failures were logged", n)
	}
}

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("made a server of nothing")
	}
}

func TestListenUnix(t *testing.T) {
	dir := t.TempDir()
	first, err := ListenUnix(dir, 5454)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(dir, 5454); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second listener: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // as after SIGKILL
	first.Close()
	again, err := ListenUnix(dir, 5454)
	if err != nil {
		t.Fatalf("over a stale socket: %v", err)
	}
	again.Close()
}

// One line when a session starts, one when it ends; the client's own words
// cannot forge another.
func TestSessionsAreLoggedOnce(t *testing.T) {
	g := startGateway(t, nil)
	for range 3 {
		b := g.loggedIn(t)
		b.say('X', "")
		b.receive()
	}
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|x\nlevel=ERROR msg=forged|database|lab|")
	b.failedLogin(password)
	eventually(t, "every session's end is logged", func() bool { return g.log.count("session ended") == 3 })
	if n := g.log.count("session started"); n != 3 {
		t.Errorf("%d starts of 3 sessions", n)
	}
	if strings.Contains(g.log.String(), "\nlevel=ERROR msg=forged") {
		t.Error("a client wrote a line of its own")
	}
	for _, field := range []string{"user=ann", "database=lab", "remote=127.0.0.1:", "bytes_from_client=5", "bytes_to_client=", "duration_ms=", "why="} {
		if !strings.Contains(g.log.String(), field) {
			t.Errorf("no %s in the log", field)
		}
	}
}
