package proxy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBigMessages(t *testing.T) {
	g := startGateway(t, nil)
	for _, options := range []string{"sslmode=disable", "sslmode=require"} {
		conn := g.connect(t, "ann", "lab", options)
		big := strings.Repeat("0123456789abcdef", 4<<20/16)
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT $1::text", big).Scan(&got); err != nil || got != big {
			t.Errorf("%s: 4 MiB there and back: %d bytes, %v", options, len(got), err)
		}
		rows := strings.Repeat(fmt.Sprintf("('%s'),", big[:120<<10]), 3)
		tag, err := conn.Exec(t.Context(), "CREATE TEMP TABLE wide (t text); INSERT INTO wide VALUES "+rows[:len(rows)-1])
		if err != nil || tag.RowsAffected() != 3 {
			t.Errorf("%s: 3 rows of 120 KB in one statement: %v, %v", options, tag, err)
		}
	}
}

func TestDeepPipeline(t *testing.T) {
	g := startGateway(t, nil)
	b := g.loggedIn(t)
	const depth = 10_000
	var request bytes.Buffer
	b.conn = recorder{b.conn, &request}
	b.say('P', "\x00SELECT 1\x00\x00\x00")
	for range depth {
		b.say('B', "\x00\x00\x00\x00\x00\x00\x00\x00")
		b.say('E', "\x00\x00\x00\x00\x00")
	}
	b.say('S', "")
	b.conn = b.conn.(recorder).Conn
	b.send(request.Bytes())
	if got, want := kinds(b.until('Z')), "1"+strings.Repeat("2DC", depth)+"Z"; got != want {
		t.Errorf("%d messages came back, want %d", len(got), len(want))
	}
}

// recorder keeps what is written, to be sent in one piece.
type recorder struct {
	net.Conn
	to *bytes.Buffer
}

func (r recorder) Write(p []byte) (int, error) { return r.to.Write(p) }

func TestErrorInAPipelineSkipsToSync(t *testing.T) {
	g := startGateway(t, nil)
	b := g.loggedIn(t)
	b.say('P', "\x00SELEC 1\x00\x00\x00")
	b.say('B', "\x00\x00\x00\x00\x00\x00\x00\x00")
	b.say('E', "\x00\x00\x00\x00\x00")
	b.say('P', "\x00SELECT 1\x00\x00\x00")
	b.say('S', "")
	if sequence, code := b.answer(); sequence != "EZ" || code != "42601" {
		t.Errorf("answer %s %s", sequence, code)
	}
	b.say('S', "")
	if got := kinds(b.until('Z')); got != "Z" {
		t.Errorf("then %s", got)
	}
}

func TestNotificationsArriveAtAnIdleSession(t *testing.T) {
	g := startGateway(t, nil)
	listener, speaker := g.connect(t, "ann", "lab"), g.connect(t, "ann", "lab")
	if _, err := listener.Exec(t.Context(), "LISTEN news"); err != nil {
		t.Fatal(err)
	}
	const many = 400
	for i := range many {
		if _, err := speaker.Exec(t.Context(), "SELECT pg_notify('news', $1)", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range many {
		n, err := listener.WaitForNotification(ctx)
		if err != nil || n.Payload != fmt.Sprint(i) || n.PID != speaker.PgConn().PID() {
			t.Fatalf("notification %d: %+v, %v", i, n, err)
		}
	}
}

// A small answer that waits for the client's delayed acknowledgement takes
// 40 ms; with TCP_NODELAY it takes a fraction of one.
func TestSmallAnswersAreNotHeldBack(t *testing.T) {
	g := startGateway(t, nil)
	conn := g.connect(t, "ann", "lab")
	var took []time.Duration
	for range 101 {
		started := time.Now()
		if err := conn.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > 20*time.Millisecond {
		t.Errorf("median %v", median)
	}
}

// A length that cannot be, after the login, is the server's to answer: it
// closes the connection without a word.
func TestLengthLiesAfterLogin(t *testing.T) {
	g := startGateway(t, nil)
	for _, length := range []string{"\x00\x00\x00\x00", "\x00\x00\x00\x03", "\xff\xff\xff\xff"} {
		b := g.loggedIn(t)
		b.send([]byte("Q" + length))
		if m := b.receive(); m.kind != 0 {
			t.Errorf("length %x: answered with %q %q", length, m.kind, m.body)
		}
	}
	eventually(t, "the sessions have ended", func() bool { return len(g.sessions.on("")) == 0 })
}

func TestSlowReaderHoldsNothingButItself(t *testing.T) {
	g := startGateway(t, nil)
	b := g.keyed(t, 196608)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.say('Q', "SELECT repeat('x', 1000) FROM generate_series(1, 300000)\x00")
	observer := engine.Connect(t, "postgres")
	stalled := func() bool {
		var wait *string
		err := observer.QueryRow(t.Context(),
			`SELECT wait_event FROM pg_stat_activity WHERE usename = 'ann' AND state = 'active'`).Scan(&wait)
		return err == nil && wait != nil && *wait == "ClientWrite"
	}
	eventually(t, "the server waits for the client", stalled)
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 8<<20 {
		t.Errorf("the gateway's heap grew by %d bytes", grown)
	}
	if err := g.connect(t, "bob", "lab").Ping(t.Context()); err != nil {
		t.Errorf("another session: %v", err)
	}
	g.cancel(t, b.key)
	if sequence, code := b.answer(); code != "57014" {
		t.Errorf("canceled while it stalls: %d messages, SQLSTATE %q", len(sequence), code)
	}
}
