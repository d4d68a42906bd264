package sql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// dropLogins undoes what a test of roles made.
func dropLogins(t *testing.T, r *room, names ...string) {
	t.Cleanup(func() {
		for _, name := range names {
			_, _ = r.owner.Exec(context.Background(), "DROP ROLE IF EXISTS "+pgx.Identifier{name}.Sanitize()) // gone already is fine
		}
	})
}

func TestAdminsMakeLogins(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		dropLogins(t, v.room, "ann", "ben")
		admin := v.as(t, "admin")
		password := one[string](t, admin, "INSERT INTO lab.roles (role) VALUES ('ann') RETURNING password")
		given := one[string](t, admin, "INSERT INTO lab.roles (role, kind, valid_until, password) VALUES ('ben', 'operator', '2100-01-01', 'it''s \\ secret') RETURNING password")
		if len(password) < 20 || given != `it's \ secret` {
			t.Errorf("passwords are %q and %q", password, given)
		}
		got := column[string](t, admin, "SELECT concat_ws(' ', role, kind, (valid_until AT TIME ZONE 'UTC')::date, password) FROM lab.roles WHERE role IN ('ann', 'ben') ORDER BY role")
		if diff := cmp.Diff([]string{"ann viewer", "ben operator 2100-01-01"}, got); diff != "" {
			t.Error(diff)
		}
		v.passwords["ann"] = password
		defer delete(v.passwords, "ann")
		ann := v.connect(t, "ann")
		exec(t, ann, "SELECT * FROM results") // without a schema name: the database has a search_path
		refused(t, ann, refusal{code: "42501", message: "permission denied"}, "SELECT * FROM lab.roles")

		exec(t, admin, "UPDATE lab.roles SET kind = 'admin', password = 'another-password' WHERE role = 'ann'")
		v.passwords["ann"] = "another-password"
		exec(t, v.connect(t, "ann"), "INSERT INTO lab.clusters (name) VALUES ('pg16')")
		exec(t, admin, "DELETE FROM lab.roles WHERE role = 'ben'")
		if got := column[string](t, v.owner, "SELECT rolname::text FROM pg_roles WHERE rolname = 'ben'"); len(got) != 0 {
			t.Error("a deleted login is still there")
		}
	})
}

func TestBadLoginsAreRefusedInWords(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		v.login(t, "viewer")
		for name, test := range map[string]struct {
			statement string
			want      refusal
		}{
			"no name":      {"INSERT INTO lab.roles (kind) VALUES ('viewer')", refusal{"23502", "role is missing", "a name"}},
			"bad name":     {`INSERT INTO lab.roles (role) VALUES ('x"; DROP ROLE lab_owner; --')`, refusal{"42602", "not a valid name", "lower-case"}},
			"system's":     {"INSERT INTO lab.roles (role) VALUES ('pg_read_all_data')", refusal{"42602", "not a valid name", "not pg_..."}},
			"lab's":        {"INSERT INTO lab.roles (role) VALUES ('lab_owner')", refusal{"42602", "not a valid name", "lab_..."}},
			"superuser's":  {"INSERT INTO lab.roles (role) VALUES ('postgres')", refusal{"42602", "not a valid name", "postgres"}},
			"taken":        {"INSERT INTO lab.roles (role) VALUES ('viewer')", refusal{"42710", `role "viewer" already exists`, "UPDATE lab.roles"}},
			"kind":         {"INSERT INTO lab.roles (role, kind) VALUES ('x', 'owner')", refusal{"22023", `kind "owner" is not known`, "operator"}},
			"password":     {"INSERT INTO lab.roles (role, password) VALUES ('x', 'short')", refusal{"28P01", "shorter than 8", "random"}},
			"renaming":     {"UPDATE lab.roles SET role = 'x' WHERE role = 'viewer'", refusal{"55006", "cannot be renamed", "Insert another"}},
			"own kind":     {"UPDATE lab.roles SET kind = 'viewer' WHERE role = 'admin'", refusal{"55006", `role "admin" is yours`, "Another admin"}},
			"own deletion": {"DELETE FROM lab.roles WHERE role = 'admin'", refusal{"55006", `role "admin" is yours`, "Another admin"}},
		} {
			t.Run(name, func(t *testing.T) { refused(t, admin, test.want, test.statement) })
		}
	})
}

func TestAdminsStayUnprivileged(t *testing.T) {
	for _, major := range engineMajors {
		r := newRoom(t, major)
		admin := r.connect(t, "admin")
		for _, statement := range []string{
			"CREATE ROLE x", "ALTER ROLE lab_gateway PASSWORD 'x'", "GRANT lab_owner TO admin", "GRANT lab_controller TO admin", "SET ROLE lab_rolekeeper", "SET ROLE lab_controller",
			"SELECT * FROM lab_private.lane_holders", "SELECT lab_private.launch('default')", "SELECT lab_private.login('admin')",
			"SELECT rolpassword FROM pg_authid", "INSERT INTO lab.usage SELECT * FROM lab.usage", "TRUNCATE lab.runs", "CREATE TABLE lab.mine ()",
			"COPY lab.runs TO PROGRAM 'true'",
		} {
			refused(t, admin, refusal{code: "42501"}, statement)
		}
	}
}

func TestOnlyTheGatewayReadsVerifiers(t *testing.T) {
	for _, major := range engineMajors {
		r := newRoom(t, major)
		dropLogins(t, r, "outsider", "ordinary", "mighty", "stopped")
		for _, kind := range []string{"viewer", "operator", "admin"} {
			r.login(t, kind)
		}
		exec(t, r.owner, "CREATE ROLE outsider LOGIN PASSWORD 'x'")
		exec(t, r.owner, "CREATE ROLE mighty LOGIN CREATEROLE PASSWORD 'x' IN ROLE lab_admin")
		exec(t, r.owner, "CREATE ROLE stopped NOLOGIN PASSWORD 'x' IN ROLE lab_viewer")
		exec(t, r.owner, "CREATE ROLE ordinary LOGIN PASSWORD 'x' CONNECTION LIMIT 3 VALID UNTIL '2100-01-01' IN ROLE lab_viewer")

		exec(t, r.owner, "SET ROLE lab_gateway")
		login := "SELECT concat_ws(' ', l.rolname, split_part(l.verifier, '$', 1), extract(year FROM l.valid_until), l.connection_limit, l.kind) FROM lab_private.login($1) l"
		for role, want := range map[string][]string{
			"viewer":                 {"viewer SCRAM-SHA-256 Infinity -1 viewer"},
			"operator":               {"operator SCRAM-SHA-256 Infinity -1 operator"},
			"admin":                  {"admin SCRAM-SHA-256 Infinity -1 admin"},
			"ordinary":               {"ordinary SCRAM-SHA-256 2100 3 viewer"},
			"postgres":               {},
			"outsider":               {},
			"mighty":                 {},
			"stopped":                {},
			"lab_admin":              {},
			"nobody":                 {},
			"":                       {},
			"viewer' OR true --":     {},
			strings.Repeat("v", 200): {},
		} {
			if diff := cmp.Diff(want, column[string](t, r.owner, login, role)); diff != "" {
				t.Errorf("login(%q): %s", role, diff)
			}
		}
		refused(t, r.owner, refusal{code: "42501"}, "SELECT * FROM lab_private.attempts")
		refused(t, r.owner, refusal{code: "42501"}, "SELECT lab_private.launch('default')")
		exec(t, r.owner, "RESET ROLE")
	}
}

func TestTheControllerMayDoItsWork(t *testing.T) {
	for _, major := range engineMajors {
		r := newRoom(t, major)
		r.ready(t, "pg16")
		exec(t, r.connect(t, "operator"), "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		exec(t, r.owner, "SET ROLE lab_controller")
		if got := one[string](t, r.owner, "SELECT l.run || ': ' || l.note FROM lab_private.launch('default') AS l"); got != "x: started x, 0 more queued" {
			t.Errorf("launch answers %q", got)
		}
		for _, statement := range []string{
			"UPDATE lab.clusters SET state = 'creating', message = 'x', server_version = '17', endpoint = 'y'",
			"UPDATE lab.runs SET state = 'done', message = NULL, window_start = now(), window_end = now(), finished_at = now()",
			"UPDATE lab_private.attempts SET tps = 1",
			"INSERT INTO lab.usage (run, attempt, cluster, role, sampled_at, window_s) VALUES ('x', 1, 'pg16', 'postgres', now(), 1)",
			"INSERT INTO lab.runtimes VALUES ('process', 'healthy', 'works', '{}', now()) ON CONFLICT (runtime) DO UPDATE SET probed_at = now()",
			"DELETE FROM lab_private.lane_holders",
			"SELECT id FROM lab_private.lab",
			"LISTEN lab",
		} {
			exec(t, r.owner, statement)
		}
		exec(t, r.owner, "RESET ROLE")
	}
}
