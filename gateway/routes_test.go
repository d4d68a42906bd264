package main

import (
	"strings"
	"testing"

	"pglab/internal/testenv"
)

// login makes a login of the lab and returns an environment for psql.
func login(t *testing.T, lab *testenv.Lab, role, kind string) []string {
	t.Helper()
	password := lab.Query(t, "INSERT INTO lab.roles (role, kind) VALUES ('"+role+"', '"+kind+"') RETURNING password")
	return []string{"PGHOST=" + lab.Host, "PGPORT=" + lab.Port, "PGUSER=" + role, "PGPASSWORD=" + password}
}

func ask(t *testing.T, env []string, database, sql string) testenv.Output {
	t.Helper()
	return testenv.Psql(t.Context(), t, testenv.Call{Args: []string{"-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-qAtc", sql, database}, Env: env})
}

func TestDatabaseNamesLeadToServersByRole(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "routed", "", "")
	viewer, operator, admin := login(t, lab, "vera", "viewer"), login(t, lab, "oleg", "operator"), login(t, lab, "anna", "admin")

	for _, c := range []struct {
		who      string
		env      []string
		database string
		want     string
	}{
		{"viewer", viewer, "lab", "vera|lab"},
		{"operator", operator, "lab", "oleg|lab"},
		{"operator", operator, "routed", "bench|routed"},
		{"admin", admin, "routed", "postgres|routed"},
	} {
		out := ask(t, c.env, c.database, "SELECT current_user, current_database()")
		if strings.TrimSpace(out.Stdout) != c.want {
			t.Errorf("%s on %s: %q, want %q; %s", c.who, c.database, out.Stdout, c.want, out.Stderr)
		}
	}

	if out := ask(t, viewer, "routed", "SELECT 1"); !strings.Contains(out.Stderr, `permission denied for database "routed"`) {
		t.Errorf("a viewer on a cluster: exit %d, %s", out.Code, out.Stderr)
	}
	out := ask(t, operator, "no-such", "SELECT 1")
	for _, want := range []string{`database "no-such" does not exist`, "HINT:  These exist: lab, ", "routed"} {
		if !strings.Contains(out.Stderr, want) {
			t.Errorf("an unknown name: %q does not say %q", out.Stderr, want)
		}
	}
	if out := ask(t, viewer, "no-such", "SELECT 1"); strings.Contains(out.Stderr, "routed") {
		t.Errorf("a viewer is told clusters: %q", out.Stderr)
	}
}

func TestRolesMayWhatTheirKindSays(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "granted", "", "")
	viewer, operator := login(t, lab, "viktor", "viewer"), login(t, lab, "olga", "operator")
	denied := func(who string, env []string, sql string) {
		t.Helper()
		if out := ask(t, env, "lab", sql); out.Code == 0 || !strings.Contains(out.Stderr, "42501") {
			t.Errorf("%s: %s: exit %d, %s", who, sql, out.Code, out.Stderr)
		}
	}
	allowed := func(who string, env []string, sql string) {
		t.Helper()
		if out := ask(t, env, "lab", sql); out.Code != 0 {
			t.Errorf("%s: %s: exit %d, %s", who, sql, out.Code, out.Stderr)
		}
	}
	lane(t, lab, "granted")
	allowed("viewer", viewer, "SELECT * FROM lab.results")
	denied("viewer", viewer, "INSERT INTO lab.launches DEFAULT VALUES")
	denied("viewer", viewer, "INSERT INTO lab.runs (cluster) VALUES ('granted')")
	allowed("operator", operator, "INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('granted-1', 'granted', 'granted', 1, 1, 1)")
	denied("operator", operator, "INSERT INTO lab.clusters (name) VALUES ('mine')")
	denied("operator", operator, "INSERT INTO lab.roles (role) VALUES ('friend')")
	for _, private := range []string{
		"SELECT * FROM lab_private.attempts", "SELECT * FROM lab_private.login('lab')", "SET ROLE lab_controller",
		"SELECT rolpassword FROM pg_authid", "COPY (SELECT 1) TO PROGRAM 'id'", "SELECT pg_read_file('PG_VERSION')",
	} {
		denied("operator", operator, private)
		admin := lab.Psql(t.Context(), t, "-v", "VERBOSITY=verbose", "-qAtc", private)
		if admin.Code == 0 || !strings.Contains(admin.Stderr, "42501") {
			t.Errorf("admin: %s: exit %d, %s", private, admin.Code, admin.Stderr)
		}
	}
}

func TestClusterThatIsNotReadyAnswersWithItsState(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	lab.Query(t, `INSERT INTO lab.clusters (name, parameters) VALUES ('broken', '{"shared_buffers": "lots"}')`)
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'broken'", "failed", patience)
	out := lab.Psql(t.Context(), t, "-c", "SELECT 1", "broken")
	for _, want := range []string{`cluster "broken" is failed`, `shared_buffers`, "HINT:"} {
		if !strings.Contains(out.Stderr, want) {
			t.Errorf("%q does not say %q", out.Stderr, want)
		}
	}
}
