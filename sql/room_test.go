package sql_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"pglab/internal/testenv"
	"pglab/sql"
)

// engineMajors are those that may store schema lab.
var engineMajors = []int{15, 16, 17, 18}

// room is a control room: database lab on the shared server of a major.
type room struct {
	server    *testenv.Server
	owner     *pgx.Conn         // the superuser; stands for the controller where a test needs one
	passwords map[string]string // of the logins made so far, by name
	attached  map[string]bool   // databases of users' own that setup.sql has attached
}

// rooms are those that stand, by major: a room is swept for the next test,
// because a new one takes a second.
var rooms = map[int]*room{}

// newRoom is a room as a new lab has it, but for the logins of earlier tests.
func newRoom(t testing.TB, major int) *room {
	t.Helper()
	r := rooms[major]
	if r == nil {
		r = emptyRoom(t, major)
		apply(t, r.owner)
		rooms[major] = r
	}
	r.owner = r.server.Connect(t, "lab")
	exec(t, r.owner, `TRUNCATE lab.clusters, lab.runs, lab.lanes, lab.usage, lab.progress, lab.logs, lab.runtimes, lab_private.attempts,
		lab_private.lane_holders, lab_private.lane_releases, lab_private.tombstones, lab_private.datasets, lab_private.log_positions`)
	exec(t, r.owner, "ALTER SEQUENCE lab_private.queue_numbers RESTART")
	exec(t, r.owner, "INSERT INTO lab.lanes (lane) VALUES ('default')")
	return r
}

// emptyRoom is a room of a test's own, without the schema.
func emptyRoom(t testing.TB, major int) *room {
	t.Helper()
	server := servers.get(t, major)
	delete(rooms, major)
	maintenance := server.Connect(t, "postgres")
	exec(t, maintenance, "DROP DATABASE IF EXISTS lab WITH (FORCE)")
	exec(t, maintenance, `DO $$ DECLARE login name; BEGIN
		FOR login IN SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolcanlogin LOOP
			EXECUTE format('DROP ROLE %I', login);
		END LOOP;
	END $$`)
	exec(t, maintenance, "CREATE DATABASE lab")
	return &room{server: server, owner: server.Connect(t, "lab"), passwords: map[string]string{}, attached: map[string]bool{}}
}

// apply does what an engine does: every file in order, in one transaction.
func apply(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for _, file := range sql.Files() {
			if err := applyFile(t.Context(), conn, file); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func applyFile(ctx context.Context, conn *pgx.Conn, file sql.File) error {
	text := "SET LOCAL search_path = ''; SET LOCAL client_min_messages = warning; " + file.Text
	if _, err := conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
		return fmt.Errorf("applying %s: %w", file.Name, err)
	}
	return nil
}

// login makes a login of that kind (viewer, operator, admin), of the same name.
func (r *room) login(t testing.TB, kind string) (name, password string) {
	t.Helper()
	if password, made := r.passwords[kind]; made {
		return kind, password
	}
	row := r.owner.QueryRow(t.Context(), "INSERT INTO lab.roles (role, kind) VALUES ($1, $1) RETURNING password", kind)
	if err := row.Scan(&password); err != nil {
		t.Fatalf("making login: %v", err)
	}
	r.passwords[kind] = password
	return kind, password
}

// connect connects over TCP as a login of that kind, as through the gateway.
func (r *room) connect(t testing.TB, kind string) *pgx.Conn {
	t.Helper()
	return dial(t, r.url(t, kind))
}

func (r *room) url(t testing.TB, kind string) string {
	t.Helper()
	user, password := r.login(t, kind)
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/lab?sslmode=disable", user, password, r.server.Port)
}

// ready makes clusters that look as if the controller had made their servers.
func (r *room) ready(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		exec(t, r.owner, "INSERT INTO lab.clusters (name, cpu) VALUES ($1, '2')", name)
		exec(t, r.owner, "UPDATE lab.clusters SET state = 'ready', server_version = '17.10', endpoint = 'a socket' WHERE name = $1", name)
	}
}

// release lets a lane go, as the controller does once nothing of the attempt runs any more.
func (r *room) release(t testing.TB, lane string) {
	t.Helper()
	exec(t, r.owner, "DELETE FROM lab_private.lane_holders h WHERE h.lane = $1", lane)
	exec(t, r.owner, `INSERT INTO lab_private.lane_releases (lane, released_at) VALUES ($1, clock_timestamp())
		ON CONFLICT (lane) DO UPDATE SET released_at = excluded.released_at`, lane)
}

func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server outlives it either way
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// one is the single value that a query returns; text is easiest to compare.
func one[T any](t testing.TB, conn *pgx.Conn, query string, args ...any) T {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// column is the single column of a query's rows.
func column[T any](t testing.TB, conn *pgx.Conn, query string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}
