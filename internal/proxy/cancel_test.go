package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/wire"
)

// keyedClient is a client whose cancel key we know.
type keyedClient struct {
	bare
	key wire.CancelKey
}

func (g *gateway) keyed(t testing.TB, version uint32) keyedClient {
	t.Helper()
	b := bare{t, g.dial(t)}
	b.startup(version, "user|ann|database|lab|")
	c := keyedClient{bare: b}
	for _, m := range b.logIn(password) {
		if m.kind == 'K' {
			c.key = wire.CancelKey{PID: binary.BigEndian.Uint32([]byte(m.body)), Secret: []byte(m.body[4:])}
		}
	}
	return c
}

// answer is the kinds of message up to ReadyForQuery and the SQLSTATE of an error among them.
func (b bare) answer() (sequence, code string) {
	b.t.Helper()
	all := b.until('Z')
	for _, m := range all {
		if m.kind == 'E' {
			_, rest, _ := strings.Cut(m.body, "\x00C")
			code, _, _ = strings.Cut(rest, "\x00")
		}
	}
	return kinds(all), code
}

// cancel sends a cancel request and returns what came back, up to the end.
func (g *gateway) cancel(t testing.TB, key wire.CancelKey) []byte {
	t.Helper()
	conn := g.dial(t)
	packet := binary.BigEndian.AppendUint32(nil, uint32(12+len(key.Secret)))
	packet = binary.BigEndian.AppendUint32(packet, 80877102)
	packet = binary.BigEndian.AppendUint32(packet, key.PID)
	if _, err := conn.Write(append(packet, key.Secret...)); err != nil {
		t.Error(err)
	}
	reply, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("cancel connection: %v", err)
	}
	return reply
}

const sleep = "SELECT pg_sleep(60)\x00"

// sleepers returns a look at how many of ann's sessions run pg_sleep.
func sleepers(t testing.TB) func() int {
	t.Helper()
	conn := connectTo(t, engine.URL("postgres"))
	return func() (n int) {
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = 'ann' AND wait_event = 'PgSleep'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func TestCancelEndsExactlyThatStatement(t *testing.T) {
	g := startGateway(t, nil)
	const sessions, rounds = 20, 30
	asleep := sleepers(t)
	clients := make([]keyedClient, sessions)
	canceled := make([]atomic.Int32, sessions)
	var loops sync.WaitGroup
	for i := range clients {
		clients[i] = g.keyed(t, []uint32{196608, 196610}[i%2])
		clients[i].say('Q', sleep)
	}
	for i, c := range clients {
		loops.Go(func() {
			for {
				m := c.receive()
				switch m.kind {
				case 'Z':
					canceled[i].Add(1)
				case 0:
					return
				}
			}
		})
	}
	want := make([]int32, sessions)
	for range rounds {
		i := rand.IntN(sessions)
		want[i]++
		eventually(t, "every session sleeps again", func() bool { return asleep() == sessions })
		if reply := g.cancel(t, clients[i].key); len(reply) > 0 {
			t.Errorf("cancel request answered with %q", reply)
		}
		within(t, 10*time.Second, "the canceled statement ends", func() bool { return canceled[i].Load() == want[i] })
		// Only now: Postgres signals twice, and promises nothing to a
		// statement that begins before the cancel connection was closed.
		clients[i].say('Q', sleep)
	}
	for i := range clients {
		if got := canceled[i].Load(); got != want[i] {
			t.Errorf("session %d: %d statements ended, %d were canceled", i, got, want[i])
		}
		leave(clients[i].conn)
	}
	loops.Wait()
}

// leave makes a client go without a word.
func leave(conn net.Conn) { conn.(*net.TCPConn).CloseWrite() }

func TestCancelAfterTheStatementHarmsNobody(t *testing.T) {
	g := startGateway(t, nil)
	a, b := g.keyed(t, 196608), g.keyed(t, 196610)
	for range 40 {
		a.say('Q', "SELECT 1\x00")
		a.answer()
		g.cancel(t, a.key)
		for _, c := range []keyedClient{a, b} {
			c.say('Q', "SELECT 2\x00")
			if sequence, code := c.answer(); code != "" {
				t.Fatalf("the next statement got %s %s", sequence, code)
			}
		}
	}
}

func TestCancelWithKeysThatAreNobodys(t *testing.T) {
	g, other, asleep := startGateway(t, nil), startGateway(t, nil), sleepers(t)
	c := g.keyed(t, 196610)
	gone := g.keyed(t, 196610)
	gone.say('X', "")
	eventually(t, "the session is gone", func() bool { return len(g.sessions.on("")) == 1 })
	c.say('Q', sleep)
	eventually(t, "the session sleeps", func() bool { return asleep() == 1 })

	wrong := append([]byte(nil), c.key.Secret...)
	wrong[31] ^= 1
	for _, attempt := range []struct {
		name string
		at   *gateway
		key  wire.CancelKey
	}{
		{"of a session that has ended", g, gone.key},
		{"with a wrong secret", g, wire.CancelKey{PID: c.key.PID, Secret: wrong}},
		{"cut short", g, wire.CancelKey{PID: c.key.PID, Secret: c.key.Secret[:4]}},
		{"of another process", g, wire.CancelKey{PID: c.key.PID + 1, Secret: c.key.Secret}},
		{"of another gateway", other, c.key},
	} {
		if reply := attempt.at.cancel(t, attempt.key); len(reply) > 0 {
			t.Errorf("key %s: answered with %q", attempt.name, reply)
		}
	}
	if asleep() != 1 {
		t.Error("one of them hit")
	}
	g.cancel(t, c.key)
	if _, code := c.answer(); code != "57014" {
		t.Errorf("the right key: SQLSTATE %q", code)
	}
}

func TestClientsOwnWaysToCancel(t *testing.T) {
	g, asleep := startGateway(t, nil), sleepers(t)
	t.Run("psql over TLS, which cancels in the clear", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "psql", "-X", g.url("ann", "lab", "sslmode=require"), "-c", "SELECT pg_sleep(60)")
		var output strings.Builder
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "psql sleeps", func() bool { return asleep() == 1 })
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if !strings.Contains(output.String(), "canceling statement due to user request") {
			t.Errorf("psql says %q", output.String())
		}
	})
	t.Run("pgx, key of protocol 3.2", func(t *testing.T) {
		conn, err := pgconn.Connect(t.Context(), g.url("ann", "lab", "max_protocol_version=3.2"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if n := len(conn.SecretKey()); n != 32 {
			t.Errorf("key of %d bytes", n)
		}
		var canceling sync.WaitGroup
		canceling.Go(func() {
			eventually(t, "pgx sleeps", func() bool { return asleep() == 1 })
			if err := conn.CancelRequest(t.Context()); err != nil {
				t.Error(err)
			}
		})
		err = conn.Exec(t.Context(), "SELECT pg_sleep(60)").Close()
		canceling.Wait()
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "57014" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cancel request inside TLS", func(t *testing.T) {
		c := g.keyed(t, 196608)
		c.say('Q', sleep)
		eventually(t, "the session sleeps", func() bool { return asleep() == 1 })
		session, err := wire.RequestTLS(g.dial(t), insecureTLS())
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.SendCancel(session, c.key); err != nil {
			t.Error(err)
		}
		if _, code := c.answer(); code != "57014" {
			t.Errorf("SQLSTATE %q", code)
		}
	})
}

// The process id in the key is the server process's, as clients expect who
// pass it to pg_terminate_backend or compare it with a notification's.
func TestKeyHasTheServersProcessID(t *testing.T) {
	g := startGateway(t, nil)
	conn := g.connect(t, "ann", "lab")
	var pid uint32
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil || pid != conn.PgConn().PID() {
		t.Errorf("pg_backend_pid() is %d (%v), the key says %d", pid, err, conn.PgConn().PID())
	}
}

func TestCancelStormTakesNoSessionsSlot(t *testing.T) {
	g := startGateway(t, func(_ *gateway, config *Config) { config.MaxSessions = 5 })
	var storm sync.WaitGroup
	for range 8 {
		storm.Go(func() {
			for range 50 {
				g.cancel(t, wire.NewCancelKey(rand.Uint32(), wire.Version32))
			}
		})
	}
	for range 5 {
		conn := g.connect(t, "ann", "lab")
		if err := conn.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		conn.Close(t.Context())
	}
	storm.Wait()
	eventually(t, "no connection is left", func() bool { return g.pending.count() == 0 && len(g.sessions.on("")) == 0 })
}
