package proxy

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestCopy(t *testing.T) {
	g := startGateway(t, nil)
	conn := g.connect(t, "ann", "lab")
	if _, err := conn.Exec(t.Context(), "DROP TABLE IF EXISTS copied; CREATE TABLE copied (n int CHECK (n >= 0))"); err != nil {
		t.Fatal(err)
	}
	rows := pgx.CopyFromSlice(100_000, func(i int) ([]any, error) { return []any{i}, nil })
	if n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"copied"}, []string{"n"}, rows); err != nil || n != 100_000 {
		t.Errorf("COPY IN: %d rows, %v", n, err)
	}
	var out bytes.Buffer
	if _, err := conn.PgConn().CopyTo(t.Context(), &out, "COPY copied TO STDOUT"); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 100_000 {
		t.Errorf("COPY OUT: %d bytes, %v", out.Len(), err)
	}
	_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"copied"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}, {-1}, {2}}))
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23514" {
		t.Errorf("COPY IN of a bad row: %v", err)
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Errorf("after COPY IN of a bad row: %v", err)
	}

	b := g.loggedIn(t)
	extendedCopy := func(end func()) (sequence, code string) {
		b.say('P', "\x00COPY copied FROM STDIN\x00\x00\x00")
		b.say('B', "\x00\x00\x00\x00\x00\x00\x00\x00")
		b.say('E', "\x00\x00\x00\x00\x00")
		b.say('S', "") // which a server that copies ignores
		b.until('G')
		b.say('d', "7\n")
		end()
		b.say('S', "")
		return b.answer()
	}
	if sequence, code := extendedCopy(func() { b.say('c', "") }); sequence != "CZ" || code != "" {
		t.Errorf("extended COPY IN: %s %s", sequence, code)
	}
	if sequence, code := extendedCopy(func() { b.say('f', "changed my mind\x00") }); sequence != "EZ" || code != "57014" {
		t.Errorf("extended COPY IN, given up: %s %s", sequence, code)
	}
	eventually(t, "no session is taken for busy", func() bool { return g.busy() == 0 })

	b.say('Q', "COPY copied FROM STDIN\x00")
	b.until('G')
	b.say('d', "8\n")
	b.conn.(*net.TCPConn).SetLinger(0)
	b.conn.Close()
	eventually(t, "a client killed in COPY IN leaves nothing", func() bool { return len(g.sessions.on("lab")) == 1 && backends(t, "ann") == 1 })
}

func TestReplicationPassesThrough(t *testing.T) {
	g := startGateway(t, nil)
	super := engine.Connect(t, "postgres")
	_, err := super.Exec(t.Context(), `DROP ROLE IF EXISTS repl; CREATE ROLE repl LOGIN REPLICATION PASSWORD '`+password+`'`)
	if err != nil {
		t.Fatal(err)
	}
	out := psql(t, g.url("repl", "lab", "replication=database"), "IDENTIFY_SYSTEM")
	if out.Code != 0 || !strings.HasSuffix(out.Stdout, "|lab\n") {
		t.Errorf("IDENTIFY_SYSTEM: %+v", out)
	}
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|repl|database|lab|replication|database|")
	b.logIn(password)
	b.say('Q', "CREATE_REPLICATION_SLOT s TEMPORARY LOGICAL test_decoding\x00")
	b.until('Z')
	b.say('Q', "START_REPLICATION SLOT s LOGICAL 0/0\x00")
	b.until('W')
	lab := g.connect(t, "ann", "lab")
	if _, err := lab.Exec(t.Context(), "DROP TABLE IF EXISTS decoded; CREATE TABLE decoded (n int); INSERT INTO decoded VALUES (42)"); err != nil {
		t.Fatal(err)
	}
	for m := b.receive(); !strings.Contains(m.body, "n[integer]:42"); m = b.receive() {
		if m.kind != 'd' {
			t.Fatalf("message %q in the stream", m.kind)
		}
	}
	b.say('c', "")
	b.until('Z')
}
