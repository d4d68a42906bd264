package main

import (
	"fmt"
	"strings"
	"testing"

	"pglab/internal/testenv"
)

// TestEverythingWorksThroughPostgresFdw lets Postgres of every major attach
// the lab with sql/setup.sql and take a run from its queueing to its results,
// all in SQL on the attaching server.
func TestEverythingWorksThroughPostgresFdw(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	for _, major := range testenv.Majors() {
		t.Run(fmt.Sprintf("from %d", major), func(t *testing.T) {
			t.Parallel()
			own := testenv.Postgres(t, major)
			psql := func(args ...string) testenv.Output {
				return testenv.Psql(t.Context(), t, testenv.Call{
					Args: append([]string{"-v", "ON_ERROR_STOP=1", own.URL("postgres")}, args...),
					Env:  []string{"PGLAB_PASSWORD=" + lab.Password(t)},
				})
			}
			query := func(sql string) string {
				t.Helper()
				out := psql("-qAtc", sql)
				if out.Code != 0 {
					t.Fatalf("%s: %s", sql, out.Stderr)
				}
				return strings.TrimSpace(out.Stdout)
			}
			for range 2 { // the second time changes nothing
				if out := psql("-v", "host="+lab.Host, "-v", "port="+lab.Port, "-f", "../sql/setup.sql"); out.Code != 0 {
					t.Fatalf("setup.sql: %s", out.Stderr)
				}
			}
			name := fmt.Sprintf("from%d", major)
			query("INSERT INTO lab.clusters (name, version) VALUES ('" + name + "', '" + fmt.Sprint(major) + "')")
			query("INSERT INTO lab.lanes (lane) VALUES ('" + name + "')")
			query("INSERT INTO lab.runs (cluster, lane, scale, clients, seconds) VALUES ('" + name + "', '" + name + "', 1, 2, 2)")
			awaitTrue(t, name+" is ready", func() bool { return query("SELECT state FROM lab.clusters WHERE name = '"+name+"'") == "ready" })
			if out := psql("-v", "once=1", "-v", "lane="+name, "-f", "../sql/launch.sql"); !strings.Contains(out.Stdout, "started "+name+"-") {
				t.Fatalf("launch.sql: %s%s", out.Stdout, out.Stderr)
			}
			awaitTrue(t, "the run has ended", func() bool {
				return query("SELECT state IN ('done', 'failed') FROM lab.results WHERE cluster = '"+name+"'") == "t"
			})
			if got := query("SELECT state, tps > 0, " + measuredOrExplained("pg_cpu_avg > 0") + ", server_version LIKE '" + fmt.Sprint(major) + ".%' FROM lab.results WHERE cluster = '" + name + "'"); got != "done|t|t|t" {
				t.Errorf("results: %s; %s", got, query("SELECT error FROM lab.results WHERE cluster = '"+name+"'"))
			}
			out := psql("-qAtc", "INSERT INTO lab.runs (cluster, clients) VALUES ('"+name+"', 0)")
			if out.Code == 0 || !strings.Contains(out.Stderr, "clients") || !strings.Contains(out.Stderr, "HINT") {
				t.Errorf("clients 0: exit %d, %s", out.Code, out.Stderr)
			}
			query("DELETE FROM lab.runs WHERE cluster = '" + name + "'")
			query("DELETE FROM lab.clusters WHERE name = '" + name + "'")
			awaitTrue(t, "everything is removed", func() bool { return query("SELECT count(*) FROM lab.removals WHERE name = '"+name+"'") == "0" })
		})
	}
}

func TestSetupOnTheLabItselfSaysSo(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	out := lab.Psql(t.Context(), t, "-f", "../sql/setup.sql")
	if out.Code != 0 || !strings.Contains(out.Stdout, "This is the lab itself") {
		t.Errorf("exit %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
}
