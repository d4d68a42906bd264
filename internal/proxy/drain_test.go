package proxy

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// busy counts the sessions that are at work.
func (g *gateway) busy() (n int) {
	for _, s := range g.sessions.on("") {
		s.mu.Lock()
		if s.relay != nil && s.relay.activity.busy() {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// drain starts to drain and returns when sessions have been told.
func (g *gateway) drain(t *testing.T, ctx context.Context) (done <-chan error) {
	t.Helper()
	result := make(chan error, 1)
	var draining sync.WaitGroup
	draining.Go(func() { result <- g.Drain(ctx) })
	t.Cleanup(draining.Wait)
	eventually(t, "the listener is closed", func() bool {
		conn, err := net.Dial("tcp", g.address())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	return result
}

func TestDrainEndsIdleSessionsAtOnce(t *testing.T) {
	g := startGateway(t, nil)
	idle := []bare{g.loggedIn(t), g.loggedIn(t)}
	idle[1].say('Q', "SELECT 1\x00")
	idle[1].until('Z')
	encrypted := g.connect(t, "ann", "lab", "sslmode=require")
	silent := g.dial(t)
	eventually(t, "the silent client was accepted", func() bool { return g.pending.count() == 1 })

	if err := g.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	for _, b := range idle {
		if e := b.failure(); e.Code != "57P01" || e.Severity != "FATAL" {
			t.Errorf("an idle session got %+v", e)
		}
	}
	err := encrypted.Ping(t.Context())
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "57P01" {
		t.Errorf("an idle session over TLS got %v", err)
	}
	if e := (bare{t, silent}).failure(); e.Code != "57P03" {
		t.Errorf("a client that had not logged in got %+v", e)
	}
	if n := backends(t, "ann"); n != 0 {
		t.Errorf("%d server processes are left", n)
	}
}

func TestDrainWaitsForBusySessions(t *testing.T) {
	g := startGateway(t, nil)
	inQuery, inTransaction := g.loggedIn(t), g.loggedIn(t)
	inQuery.say('Q', "SELECT pg_sleep(0.5)\x00")
	inTransaction.say('Q', "BEGIN\x00")
	inTransaction.until('Z')
	eventually(t, "both work", func() bool { return g.busy() == 2 })

	done := g.drain(t, t.Context())
	if got := kinds(inQuery.until('Z')); got != "TDCZ" {
		t.Errorf("the statement's answer: %s", got)
	}
	if e := inQuery.failure(); e.Code != "57P01" {
		t.Errorf("after the statement: %+v", e)
	}
	inTransaction.say('Q', "SELECT 1\x00")
	if got := kinds(inTransaction.until('Z')); got != "TDCZ" {
		t.Errorf("in the transaction: %s", got)
	}
	inTransaction.say('Q', "COMMIT\x00")
	if got := kinds(inTransaction.until('Z')); got != "CZ" {
		t.Errorf("COMMIT: %s", got)
	}
	if e := inTransaction.failure(); e.Code != "57P01" {
		t.Errorf("after the transaction: %+v", e)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDrainCutsOffWhatTakesTooLong(t *testing.T) {
	g := startGateway(t, nil)
	b := g.loggedIn(t)
	b.say('Q', sleep)
	eventually(t, "it works", func() bool { return g.busy() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	done := g.drain(t, ctx)
	cancel() // a second signal, or the deadline
	if e := b.failure(); e.Code != "57P01" {
		t.Errorf("the busy session got %+v", e)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "cut off while busy: 1") {
		t.Errorf("Drain: %v", err)
	}
	within(t, 5*time.Second, "the abandoned statement is canceled", func() bool { return backends(t, "ann") == 0 })
}

func TestDrainOfAStalledClientEndsToo(t *testing.T) {
	g := startGateway(t, nil)
	b := g.loggedIn(t)
	b.say('Q', "SELECT repeat('x', 1000) FROM generate_series(1, 300000)\x00")
	b.expect('T')
	ctx, cancel := context.WithCancel(t.Context())
	done := g.drain(t, ctx)
	cancel()
	<-done
	within(t, 5*time.Second, "its server process is gone", func() bool { return backends(t, "ann") == 0 })
}

func TestServeAfterDrain(t *testing.T) {
	g := startGateway(t, nil)
	if err := g.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := g.Drain(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Serve(ln); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was left open: %v", err)
	}
}

func TestTerminateEndsTheSessionsOfOneDatabase(t *testing.T) {
	g := startGateway(t, nil)
	start := func(database string) bare {
		b := bare{t, g.dial(t)}
		b.startup(196608, "user|ann|database|"+database+"|")
		b.logIn(password)
		return b
	}
	other, idle, busy := start("lab"), start("cluster"), start("cluster")
	busy.say('Q', sleep)
	eventually(t, "one works", func() bool { return g.busy() == 1 })
	g.Terminate("cluster")
	for _, b := range []bare{idle, busy} {
		if e := b.failure(); e.Code != "57P01" || !strings.Contains(e.Message, `"cluster"`) {
			t.Errorf("got %+v", e)
		}
	}
	other.say('Q', "SELECT 1\x00")
	if got := kinds(other.until('Z')); got != "TDCZ" {
		t.Errorf("a session on another database got %s", got)
	}
	within(t, 5*time.Second, "their server processes are gone", func() bool { return backends(t, "ann") == 1 })
}

func TestTerminateEndsASessionThatIsStillConnecting(t *testing.T) {
	reached := make(chan struct{})
	g := startGateway(t, func(g *gateway, _ *Config) {
		g.routes["slow"] = func(Role) (Target, error) {
			return Target{User: "ann", Database: "lab", Dial: func(ctx context.Context) (net.Conn, error) {
				close(reached)
				<-ctx.Done()
				return nil, ctx.Err()
			}}, nil
		}
	})
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|slow|")
	verify := b.prove(password)
	if _, err := verify(b.expect('R').body[4:]); err != nil {
		t.Fatal(err)
	}
	<-reached
	g.Terminate("slow")
	if e := b.failure(); e.Code != "57P01" {
		t.Errorf("got %+v", e)
	}
}
