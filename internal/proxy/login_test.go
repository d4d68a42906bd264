package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	old "github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/testenv"
)

const whoAmI = "SELECT current_user || '@' || current_database()"

func TestPsqlLogsIn(t *testing.T) {
	g := startGateway(t, nil)
	for _, options := range [][]string{
		{"sslmode=disable"}, {"sslmode=prefer"}, {"sslmode=require"},
		{"sslmode=verify-full", "sslrootcert=" + g.certFile},
		{"sslmode=require", "gssencmode=prefer"},
	} {
		out := psql(t, g.url("ann", "lab", options...), whoAmI)
		if out.Stdout != "ann@lab\n" || out.Code != 0 {
			t.Errorf("%v: %+v", options, out)
		}
	}
	if n := strings.Count(g.log.String(), "session ended"); n == 0 {
		t.Error("no session's end was logged")
	}
}

func TestPgxLogsIn(t *testing.T) {
	g := startGateway(t, nil)
	for _, options := range [][]string{
		{"sslmode=disable"}, {"sslmode=require"},
		{"sslmode=verify-full", "sslrootcert=" + g.certFile},
		{"sslmode=require", "sslnegotiation=direct"},
		{"max_protocol_version=3.2"},
		{"sslmode=require", "max_protocol_version=latest"},
	} {
		var got string
		if err := g.connect(t, "ann", "lab", options...).QueryRow(t.Context(), whoAmI).Scan(&got); err != nil || got != "ann@lab" {
			t.Errorf("%v: %q, %v", options, got, err)
		}
	}
}

func TestDatabaseDefaultsToTheUsersName(t *testing.T) {
	g := startGateway(t, nil)
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|")
	if got := kinds(b.logIn(password)); !strings.HasPrefix(got, "RS") || !strings.HasSuffix(got, "KZ") {
		t.Errorf("greeting %s", got)
	}
	b.say('Q', whoAmI+"\x00")
	if row := b.until('D'); !strings.HasSuffix(row[len(row)-1].body, "ann@ann") {
		t.Errorf("row %q", row[len(row)-1].body)
	}
}

func TestProtocolVersions(t *testing.T) {
	g := startGateway(t, nil)
	for _, test := range []struct {
		name       string
		version    uint32
		options    string
		negotiated string // body of NegotiateProtocolVersion, NUL as |; empty: none
		secret     int    // bytes of the cancel key
	}{
		{"3.0", 196608, "", "", 4},
		{"3.1, which never was", 196609, "", "", 4},
		{"3.2", 196610, "", "", 32},
		{"3.9", 196617, "", "|\x03|\x02||||", 32},
		{"3.9999 with options of the protocol", 3<<16 | 9999, "_pq_.foo|1|_pq_.bar|x|", "|\x03|\x02|||\x02_pq_.foo|_pq_.bar|", 32},
		{"3.0 with an option of the protocol", 196608, "_pq_.foo|1|", "|\x03|||||\x01_pq_.foo|", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := bare{t, g.dial(t)}
			b.startup(test.version, "user|ann|database|lab|"+test.options)
			if test.negotiated != "" {
				if got := strings.ReplaceAll(b.expect('v').body, "\x00", "|"); got != test.negotiated {
					t.Errorf("negotiated %q, want %q", got, test.negotiated)
				}
			}
			for _, m := range b.logIn(password) {
				if m.kind == 'K' && len(m.body) != 4+test.secret {
					t.Errorf("cancel key of %d bytes, want %d", len(m.body)-4, test.secret)
				}
			}
			b.say('Q', "SELECT 1\x00")
			if got := kinds(b.until('Z')); got != "TDCZ" {
				t.Errorf("answer to a query: %s", got)
			}
		})
	}
	b := bare{t, g.dial(t)}
	b.startup(4<<16, "user|ann|database|lab|")
	if e := b.failure(); e.Code != "0A000" || e.Severity != "FATAL" || !strings.Contains(e.Message, "server supports 3.0 to 3.2") {
		t.Errorf("protocol 4.0: %+v", e)
	}
}

func TestLoginsThatFail(t *testing.T) {
	g := startGateway(t, nil)
	for _, test := range []struct{ name, user, password string }{
		{"wrong password", "ann", "wrong"},
		{"empty password", "ann", ""},
		{"unknown role", "nobody", password},
		{"superuser", "postgres", testenv.Password},
		{"expired password", "late", password},
		{"role without a password", "bare", password},
		{"role with an md5 password", "aged", password},
		{"name that is not UTF-8", "\xff\xfe", password},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := bare{t, g.dial(t)}
			b.startup(196608, "user|"+test.user+"|database|lab|")
			e := b.failedLogin(test.password)
			want := fmt.Sprintf("password authentication failed for user %q", test.user)
			if e.Code != "28P01" || e.Message != want || e.Detail != "" || e.Hint != "" {
				t.Errorf("error %+v, want %s", e, want)
			}
		})
	}
	if log := g.log.String(); strings.Contains(log, password) || strings.Contains(log, "SCRAM-SHA-256$") {
		t.Error("a password or verifier was logged")
	}
}

// An unknown user's salt is as stable as a real one's, and no two users share one.
func TestUnknownUsersLookLikeOthers(t *testing.T) {
	g, again := startGateway(t, nil), startGateway(t, nil)
	challenge := func(g *gateway, user string) (salt string, iterations string) {
		b := bare{t, g.dial(t)}
		b.startup(196608, "user|"+user+"|database|lab|")
		b.expect('R')
		b.say('p', "SCRAM-SHA-256\x00\x00\x00\x00\x0en,,n=,r=abcdef")
		fields := strings.Split(b.expect('R').body[4:], ",")
		return fields[1], fields[2]
	}
	nobody, iterations := challenge(g, "nobody")
	_, real := challenge(g, "ann")
	if iterations != real {
		t.Errorf("iterations of an unknown user %s, of a known one %s", iterations, real)
	}
	if salt, _ := challenge(again, "nobody"); salt != nobody {
		t.Error("the salt of an unknown user changes from attempt to attempt")
	}
	if salt, _ := challenge(g, "noone"); salt == nobody {
		t.Error("two unknown users share a salt")
	}
}

func TestNamesOfAnyScript(t *testing.T) {
	g := startGateway(t, nil)
	const name = `Ünï 'quoted' "name"`
	var got string
	if err := g.connect(t, name, "lab").QueryRow(t.Context(), "SELECT current_user").Scan(&got); err != nil || got != name {
		t.Errorf("logged in as %q, %v", got, err)
	}
}

// SASLprep is the client's business: whatever it makes of a password must
// end here as it ends at a real server.
func TestSASLprepGivesTheVerdictOfARealServer(t *testing.T) {
	g := startGateway(t, nil)
	super := engine.Connect(t, "postgres")
	for _, test := range []struct{ name, set, try string }{
		{"soft hyphen vanishes", "I\u00adX", "IX"},
		{"no-break space is a space", "a\u00a0b", "a b"},
		{"feminine ordinal is an a", "\u00aa", "a"},
		{"decomposed letter", "caf\u00e9", "cafe\u0301"},
		{"two spaces are not one", "a  b", "a b"},
		{"two scripts, mixed", "\u0627a", "\u0627a"},
		{"case counts", "Secret", "secret"},
		{"emoji", "\U0001f418", "\U0001f418"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := super.Exec(t.Context(), "DROP ROLE IF EXISTS prep; CREATE ROLE prep LOGIN PASSWORD '"+test.set+"'"); err != nil {
				t.Fatal(err)
			}
			for _, spelling := range []string{test.set, test.try} {
				with := func(connection string) string {
					u, err := url.Parse(connection)
					if err != nil {
						t.Fatal(err)
					}
					u.User = url.UserPassword("prep", spelling)
					return u.String()
				}
				here, there := with(g.url("prep", "lab")), with(direct("prep", "lab"))
				if a, b := psql(t, here, "SELECT 1").Code, psql(t, there, "SELECT 1").Code; a != b {
					t.Errorf("psql with %q: exit status %d through the gateway, %d directly", spelling, a, b)
				}
				if a, b := pgxCode(t, here), pgxCode(t, there); a != b {
					t.Errorf("pgx with %q: %q through the gateway, %q directly", spelling, a, b)
				}
			}
		})
	}
}

// pgxCode is how a login with pgx ends: "" or a SQLSTATE.
func pgxCode(t testing.TB, connection string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), connection)
	if err == nil {
		conn.Close(t.Context())
		return ""
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return err.Error()
}

func TestOwnUserNeedsNoPasswordOnTheUnixSocket(t *testing.T) {
	g := startGateway(t, nil)
	local := func(user, database string) testenv.Output {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return testenv.Psql(ctx, t, testenv.Call{Args: []string{"--no-password", "-A", "-t",
			"-h", g.socketDir, "-p", strconv.Itoa(g.port), "-U", user, "-d", database, "-c", whoAmI}})
	}
	if out := local("ann", "lab"); out.Stdout != "ann@lab\n" {
		t.Errorf("%+v", out)
	}
	if out := local("nobody", "lab"); out.Code != 2 || !strings.Contains(out.Stderr, `role "nobody" does not exist`) {
		t.Errorf("unknown role: %+v", out)
	}
	if out := local("ann", "same-role"); out.Code != 2 || !strings.Contains(out.Stderr, "Connect over TCP") {
		t.Errorf("target that wants the client's keys: %+v", out)
	}
	if out := local("ann", "by-password"); out.Stdout != "postgres@lab\n" {
		t.Errorf("target with a password of its own: %+v", out)
	}
}

func TestOtherUsersNeedAPasswordOnTheUnixSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir, err := os.MkdirTemp("/tmp", "pglab-socket-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := startGateway(t, func(g *gateway, _ *Config) { g.socketDir = dir })
	socket := fmt.Sprintf("%s/.s.PGSQL.%d", g.socketDir, g.port)
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	psqlAs := func(env ...string) string {
		cmd := exec.CommandContext(t.Context(), "setpriv", "--reuid=nobody", "--clear-groups", "psql", "-X", "-w", "-A", "-t",
			"-h", g.socketDir, "-p", strconv.Itoa(g.port), "-U", "ann", "-d", "lab", "-c", whoAmI)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), env...)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := psqlAs(); !strings.Contains(out, "no password supplied") {
		t.Errorf("without a password: %s", out)
	}
	if out := psqlAs("PGPASSWORD=" + password); out != "ann@lab\n" {
		t.Errorf("with the password: %s", out)
	}
}

func TestClientThatCouldBindToTheChannelLogsIn(t *testing.T) {
	g := startGateway(t, nil)
	out := psql(t, g.url("ann", "lab", "sslmode=require", "channel_binding=prefer"), "SELECT 1")
	if out.Code != 0 {
		t.Errorf("%+v", out)
	}
}

// pgproto3/v2 knows protocol 3.0 and keys of four bytes, and nothing newer.
func TestClientOfTheOldProtocolLogsIn(t *testing.T) {
	g := startGateway(t, nil)
	b := bare{t, g.dial(t)}
	client := old.NewFrontend(old.NewChunkReader(b.conn), b.conn)
	if err := client.Send(&old.StartupMessage{
		ProtocolVersion: old.ProtocolVersionNumber,
		Parameters:      map[string]string{"user": "ann", "database": "lab"},
	}); err != nil {
		t.Fatal(err)
	}
	verify := b.prove(password)
	if _, err := verify(b.expect('R').body[4:]); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for ready := false; !ready; {
		m, err := client.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *old.AuthenticationOk, *old.BackendKeyData:
			seen = append(seen, fmt.Sprintf("%T", m))
		case *old.ReadyForQuery:
			ready = m.TxStatus == 'I'
		}
	}
	if got := strings.Join(seen, " "); got != "*pgproto3.AuthenticationOk *pgproto3.BackendKeyData" {
		t.Errorf("greeting %s", got)
	}
}

// postgres_fdw of an ordinary user refuses servers that ask for no password,
// and tells what a server says only inside a DETAIL.
func TestPostgresFDWLogsIn(t *testing.T) {
	g := startGateway(t, nil)
	super := engine.Connect(t, "ann")
	_, err := super.Exec(t.Context(), fmt.Sprintf(`
		DROP EXTENSION IF EXISTS postgres_fdw CASCADE;
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%[1]s', port '%[2]d', dbname 'lab');
		CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%[1]s', port '%[2]d', dbname 'nowhere');
		CREATE USER MAPPING FOR bob SERVER here OPTIONS (user 'ann', password '%[3]s');
		CREATE USER MAPPING FOR bob SERVER nowhere OPTIONS (user 'ann', password '%[3]s');
		CREATE FOREIGN TABLE sessions (usename name, application_name text)
			SERVER here OPTIONS (schema_name 'pg_catalog', table_name 'pg_stat_activity');
		CREATE FOREIGN TABLE nothing (n int) SERVER nowhere;
		GRANT SELECT ON sessions, nothing TO bob;
		SET ROLE bob`, g.host, g.port, password))
	if err != nil {
		t.Fatal(err)
	}
	var n int
	err = super.QueryRow(t.Context(), `SELECT count(*) FROM sessions WHERE usename = 'ann' AND application_name = 'postgres_fdw'`).Scan(&n)
	if err != nil || n != 1 {
		t.Errorf("%d sessions of postgres_fdw, %v", n, err)
	}
	_, err = super.Exec(t.Context(), "SELECT * FROM nothing")
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != "08001" || !strings.Contains(e.Detail, "There is lab.") {
		t.Errorf("error %v", err)
	}
}
