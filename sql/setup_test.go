package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"pglab/internal/testenv"
)

// ownDatabase is a fresh database of a user's own.
func ownDatabase(t *testing.T, major int) (conn *pgx.Conn, url string) {
	t.Helper()
	server := servers.get(t, major)
	maintenance := server.Connect(t, "postgres")
	exec(t, maintenance, "DROP DATABASE IF EXISTS own WITH (FORCE)")
	exec(t, maintenance, "CREATE DATABASE own")
	return server.Connect(t, "own"), server.URL("own")
}

func TestSetupAttachesTheLab(t *testing.T) {
	for _, major := range testenv.Majors() {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			r := newRoom(t, 15)
			user, password := r.login(t, "admin")
			own, url := ownDatabase(t, major)
			output := setup(t, url, r.server.Port, user, password)
			if output.Code != 0 || output.Stderr != "" {
				t.Fatalf("%+v", output)
			}
			for _, want := range []string{fmt.Sprintf("The lab at 127.0.0.1 port %d is schema lab of this database, as its user admin\n", r.server.Port),
				"attached: clusters, lanes, launches, logs, measurements, progress, removals, results, roles, runs, runtimes, usage\n", "SELECT * FROM lab.runtimes"} {
				if !strings.Contains(output.Stdout, want) {
					t.Errorf("it does not say %q:\n%s", want, output.Stdout)
				}
			}
			if strings.Contains(output.Stdout, password) {
				t.Error("it shows the password")
			}
			for _, relation := range relations {
				exec(t, own, "SELECT * FROM lab."+relation)
			}
			got := column[string](t, own, "SELECT c.relname || ' ' || o.option_value FROM pg_foreign_table f JOIN pg_class c ON c.oid = f.ftrelid, pg_options_to_table(f.ftoptions) o WHERE o.option_name = 'fetch_size' ORDER BY 1")
			if diff := cmp.Diff([]string{"logs 10", "runs 10"}, got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(servers.get(t, major).Log(), password) {
				t.Error("the password is in the server's log")
			}
		})
	}
}

func TestSetupAgainKeepsWhatWasBuilt(t *testing.T) {
	for _, major := range testenv.Majors() {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			r := newRoom(t, 15)
			user, password := r.login(t, "admin")
			own, url := ownDatabase(t, major)
			setup(t, url, 1, user, password) // fails, and leaves nothing behind
			if output := setup(t, url, r.server.Port, user, password); output.Code != 0 {
				t.Fatalf("%+v", output)
			}
			exec(t, own, "CREATE VIEW mine AS SELECT run, state, clients FROM lab.runs")
			exec(t, own, "ALTER FOREIGN TABLE lab.usage OPTIONS (ADD fetch_size '500')")

			// As if the lab had been older when it was attached, and newer in other ways.
			exec(t, own, "ALTER FOREIGN TABLE lab.runs DROP COLUMN rate, ADD COLUMN bygone integer")
			exec(t, own, "ALTER FOREIGN TABLE lab.usage ALTER COLUMN attempt TYPE bigint")
			exec(t, own, "DROP FOREIGN TABLE lab.lanes")
			exec(t, own, "CREATE FOREIGN TABLE lab.bygone (i integer) SERVER pglab")
			output := setup(t, url, r.server.Port, user, password)
			if output.Code != 0 || output.Stderr != "" {
				t.Fatalf("%+v", output)
			}
			for _, want := range []string{"attached: lanes\n", "updated: runs, usage\n", "gone: bygone\n", "as before: clusters, "} {
				if !strings.Contains(output.Stdout, want) {
					t.Errorf("it does not say %q:\n%s", want, output.Stdout)
				}
			}
			exec(t, own, "SELECT rate FROM lab.runs")
			exec(t, own, "SELECT * FROM mine, lab.usage, lab.lanes, lab.runs")
			if got := one[string](t, own, "SELECT o.option_value FROM pg_foreign_table f, pg_options_to_table(f.ftoptions) o WHERE f.ftrelid = 'lab.usage'::regclass AND o.option_name = 'fetch_size'"); got != "500" {
				t.Errorf("the user's own fetch_size is %s now", got)
			}
			if schemas := column[string](t, own, "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'pglab%'"); len(schemas) > 0 {
				t.Errorf("left behind: %v", schemas)
			}
		})
	}
}

func TestSetupSaysWhatIsInItsWay(t *testing.T) {
	r := newRoom(t, 15)
	user, password := r.login(t, "admin")
	own, url := ownDatabase(t, 15)
	setup(t, url, r.server.Port, user, password)
	exec(t, own, "ALTER FOREIGN TABLE lab.runs ALTER COLUMN clients TYPE text, ADD COLUMN bygone integer")
	exec(t, own, "CREATE FOREIGN TABLE lab.old (i integer) SERVER pglab")
	exec(t, own, "DROP FOREIGN TABLE lab.lanes")
	exec(t, own, "CREATE TABLE lab.lanes (mine integer)")
	exec(t, own, "CREATE VIEW mine AS SELECT r.clients, r.bygone, o.i FROM lab.runs r, lab.old o")
	output := setup(t, url, r.server.Port, user, password)
	if output.Code != 0 {
		t.Fatalf("%+v", output)
	}
	for _, want := range []string{
		"lab.runs: column clients is now integer, column bygone is gone; drop your views that use them and run setup.sql again\n",
		"lab.old: gone from the lab; drop your views that use it and run setup.sql again\n",
		"lab.lanes: not attached, another relation has that name; rename it and run setup.sql again\n",
	} {
		if !strings.Contains(output.Stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, output.Stdout)
		}
	}
}

func TestSetupRefusesInWords(t *testing.T) {
	r := newRoom(t, 15)
	user, password := r.login(t, "admin")
	port := fmt.Sprint(r.server.Port)
	tests := map[string]struct {
		before string
		args   []string
		env    []string
		code   int
		says   string
	}{
		"no password":       {args: []string{"-v", "port=" + port}, code: 3, says: "password is missing"},
		"wrong password":    {args: []string{"-v", "port=" + port, "-v", "user=admin", "-v", "password=no"}, code: 3, says: "password authentication failed"},
		"nobody there":      {args: []string{"-v", "port=1", "-v", "password=x"}, code: 3, says: "Connection refused"},
		"schema of another": {before: "CREATE SCHEMA lab", args: []string{"-v", "port=" + port, "-v", "user=" + user, "-v", "password=" + password}, code: 3, says: "a schema lab exists already, and setup.sql did not make it"},
		"password from the environment": {args: []string{"-v", "port=" + port, "-v", "user=" + user}, env: []string{"PGLAB_PASSWORD=" + password},
			says: "as its user admin"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			own, url := ownDatabase(t, 15)
			if test.before != "" {
				exec(t, own, test.before)
			}
			output := testenv.Psql(t.Context(), t, testenv.Call{Args: append(test.args, "-f", "setup.sql", url), Env: test.env})
			if output.Code != test.code || !strings.Contains(output.Stdout+output.Stderr, test.says) {
				t.Errorf("want code %d and %q: %+v", test.code, test.says, output)
			}
			if servers := column[string](t, own, "SELECT srvname::text FROM pg_foreign_server"); test.code != 0 && len(servers) > 0 {
				t.Errorf("left behind: %v", servers)
			}
		})
	}
}

func TestSetupOnTheLabItselfSaysSo(t *testing.T) {
	r := newRoom(t, 15)
	for _, kind := range []string{"viewer", "admin"} {
		output := testenv.Psql(t.Context(), t, testenv.Call{Args: []string{"-v", "password=x", "-f", "setup.sql", r.url(t, kind)}})
		if output.Code != 0 || output.Stderr != "" || !strings.Contains(output.Stdout, "This is the lab itself") {
			t.Errorf("%+v", output)
		}
	}
}
