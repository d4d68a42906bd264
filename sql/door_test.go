package sql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/testenv"
)

// door is a way into a control room: directly, or through the foreign tables
// that setup.sql made in a user's own Postgres.
type door struct {
	engine int
	own    int // major of the user's own Postgres; 0: direct
}

func (d door) String() string {
	if d.own == 0 {
		return fmt.Sprintf("direct to %d", d.engine)
	}
	return fmt.Sprintf("from %d to %d", d.own, d.engine)
}

// doors cover every major of the engine both ways and every major of the user's own Postgres.
var doors = []door{
	{engine: 15}, {engine: 16}, {engine: 17}, {engine: 18},
	{engine: 15, own: 14}, {engine: 16, own: 15}, {engine: 17, own: 16}, {engine: 18, own: 17}, {engine: 15, own: 18},
}

// visit is a swept room and a door into it.
type visit struct {
	*room
	door
	conns map[string]*pgx.Conn
}

// eachDoor runs a test once for every door, each time with a swept room.
func eachDoor(t *testing.T, test func(t *testing.T, v *visit)) {
	for _, d := range doors {
		t.Run(d.String(), func(t *testing.T) {
			test(t, &visit{room: newRoom(t, d.engine), door: d, conns: map[string]*pgx.Conn{}})
		})
	}
}

// as is a session of a login of that kind (viewer, operator, admin). Through
// postgres_fdw it is a session on the user's own Postgres.
func (v *visit) as(t testing.TB, kind string) *pgx.Conn {
	t.Helper()
	if v.conns[kind] == nil {
		v.conns[kind] = v.open(t, kind)
	}
	return v.conns[kind]
}

// open is another session of that kind.
func (v *visit) open(t testing.TB, kind string) *pgx.Conn {
	t.Helper()
	return dial(t, v.url(t, kind))
}

// url is where sessions of that kind connect to.
func (v *visit) url(t testing.TB, kind string) string {
	t.Helper()
	if v.own == 0 {
		return v.room.url(t, kind)
	}
	own := servers.get(t, v.own)
	database := fmt.Sprintf("own%d_engine%d_%s", v.own, v.engine, kind)
	if !v.attached[database] {
		v.attach(t, own, database, kind)
		v.attached[database] = true
	}
	return own.URL(database)
}

func (v *visit) attach(t testing.TB, own *testenv.Server, database, kind string) {
	t.Helper()
	maintenance := own.Connect(t, "postgres")
	exec(t, maintenance, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)")
	exec(t, maintenance, "CREATE DATABASE "+database)
	user, password := v.login(t, kind)
	output := setup(t, own.URL(database), v.server.Port, user, password)
	if output.Code != 0 {
		t.Fatalf("setup.sql: %+v", output)
	}
}

// setup runs setup.sql against a database, as its users do.
func setup(t testing.TB, url string, port int, user, password string) testenv.Output {
	t.Helper()
	return testenv.Psql(t.Context(), t, testenv.Call{Args: []string{
		"-v", fmt.Sprintf("port=%d", port), "-v", "user=" + user, "-v", "password=" + password, "-f", "setup.sql", url}})
}

// refusal is what an ERROR must say; empty: anything.
type refusal struct {
	code    string
	message string // part of it
	hint    string // part of it
}

func (r refusal) check(t testing.TB, err error) {
	t.Helper()
	var got *pgconn.PgError
	if !errors.As(err, &got) {
		t.Errorf("error = %v, want SQLSTATE %s: %s", err, r.code, r.message)
		return
	}
	if got.Code != r.code || !strings.Contains(got.Message, r.message) || !strings.Contains(got.Hint, r.hint) {
		t.Errorf("SQLSTATE %s: %s (hint: %s)\nwant     %s: ...%s... (hint: ...%s...)", got.Code, got.Message, got.Hint, r.code, r.message, r.hint)
	}
	if got.Code != "42501" && got.Hint == "" {
		t.Errorf("no hint says what to do: %s", got.Message)
	}
}

// refused runs a statement that must be refused.
func refused(t testing.TB, conn *pgx.Conn, want refusal, statement string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), statement, args...)
	if err == nil {
		t.Errorf("%s: accepted, want SQLSTATE %s", statement, want.code)
		return
	}
	want.check(t, err)
}
