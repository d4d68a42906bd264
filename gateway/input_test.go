package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"pglab/internal/testenv"
)

// TestBadInputGetsAClearError sends what users get wrong and looks for the
// SQLSTATE and for the words that help. The lab goes on after each.
func TestBadInputGetsAClearError(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	lab.Query(t, "INSERT INTO lab.clusters (name, version) VALUES ('input', '"+oldMajor+"')")
	for _, c := range []struct{ name, sql, code, words string }{
		{"unknown cluster", "INSERT INTO lab.runs (cluster) VALUES ('nowhere')", "23503", "input"},
		{"clients 0", "INSERT INTO lab.runs (cluster, clients) VALUES ('input', 0)", "", "clients"},
		{"seconds 0", "INSERT INTO lab.runs (cluster, seconds) VALUES ('input', 0)", "", "seconds"},
		{"unknown runtime", "INSERT INTO lab.clusters (name, runtime) VALUES ('x', 'vm')", "22023", "process"},
		{"reserved name", "INSERT INTO lab.clusters (name) VALUES ('lab')", "42939", "reserved"},
		{"reserved name", "INSERT INTO lab.clusters (name) VALUES ('template1')", "42939", "reserved"},
		{"quote in a name", `INSERT INTO lab.clusters (name) VALUES ('a"b')`, "42602", "lower-case letters"},
		{"semicolon in a name", `INSERT INTO lab.clusters (name) VALUES ('a;b')`, "42602", "lower-case letters"},
		{"command in a name", `INSERT INTO lab.clusters (name) VALUES ('$(touch /tmp/pglab-injected)')`, "42602", "lower-case letters"},
		{"path in a run's name", `INSERT INTO lab.runs (run, cluster) VALUES ('../../etc', 'input')`, "", "letter"},
		{"parameters that are no object", `INSERT INTO lab.clusters (name, parameters) VALUES ('x', '[1]')`, "", "object"},
		{"reserved parameter", `INSERT INTO lab.clusters (name, parameters) VALUES ('x', '{"port": "1"}')`, "", "port"},
		{"\\shell in a script", `INSERT INTO lab.runs (cluster, script) VALUES ('input', E'SELECT 1;\n \\shell touch /tmp/pglab-injected')`, "", "shell"},
		{"\\setshell in a script", `INSERT INTO lab.runs (cluster, script) VALUES ('input', E'\\setshell n id')`, "", "shell"},
		{"old client", `INSERT INTO lab.runs (cluster, client_version) VALUES ('input', '13')`, "", "14"},
		{"bad cpu", `INSERT INTO lab.clusters (name, cpu) VALUES ('x', 'many')`, "", "500m"},
		{"launched by hand", `INSERT INTO lab.runs (cluster, state) VALUES ('input', 'launched')`, "42501", "HINT"},
	} {
		out := lab.Psql(t.Context(), t, "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-qAtc", c.sql)
		if out.Code == 0 || !strings.Contains(out.Stderr, c.code) || !strings.Contains(out.Stderr, c.words) {
			t.Errorf("%s: exit %d, want SQLSTATE %s and %q:\n%s", c.name, out.Code, c.code, c.words, out.Stderr)
		}
	}
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'input'", "ready", patience)
}

func TestImpossibleClustersFailInWords(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	for _, c := range []struct{ name, columns, values, words string }{
		{"no-version", "version", "'99'", "found"},
		{"no-runtime", "runtime", "'docker'", "lab.runtimes"},
		{"no-setting", "parameters", `'{"no_such_setting": "1"}'`, "no_such_setting"},
		{"bad-value", "parameters", `'{"work_mem": "$(id)"}'`, "work_mem"},
		{"no-bindir", "bindir", "'/no/such/dir'", "/no/such/dir"},
	} {
		lab.Query(t, "INSERT INTO lab.clusters (name, "+c.columns+") VALUES ('"+c.name+"', "+c.values+")")
		lab.Await(t, "SELECT state FROM lab.clusters WHERE name = '"+c.name+"'", "failed", patience)
		if message := lab.Query(t, "SELECT message FROM lab.clusters WHERE name = '"+c.name+"'"); !strings.Contains(message, c.words) {
			t.Errorf("%s: message %q does not say %q", c.name, message, c.words)
		}
	}
	// A run on a failed cluster does not hold up the queue.
	ready(t, lab, "next", "", "")
	lane(t, lab, "impossible")
	lab.Query(t, "INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('impossible-1', 'no-version', 'impossible', 1, 1, 1), ('impossible-2', 'next', 'impossible', 1, 1, 1)")
	if state, message := ended(t, lab, "impossible-2"); state != "done" {
		t.Errorf("the next run is %s: %s", state, message)
	}
	if state, message := ended(t, lab, "impossible-1"); state != "failed" || !strings.Contains(message, `cluster "no-version" failed`) {
		t.Errorf("the run on the failed cluster is %s: %s", state, message)
	}
}

func TestScriptOfAMegabyteRuns(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "large", "", "")
	lane(t, lab, "large")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, clients, seconds, init, script)
		VALUES ('large-1', 'large', 'large', 1, 2, 'never', repeat(E'-- as long as it gets\n', 47000) || 'SELECT 1;')`)
	if state, message := ended(t, lab, "large-1"); state != "done" {
		t.Errorf("run is %s: %s", state, message)
	}
}

func TestFailedClusterIsTriedAgain(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	lab.Query(t, `INSERT INTO lab.clusters (name, version) VALUES ('retried', '98')`)
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'retried'", "failed", patience)
	before := lab.Query(t, "SELECT clock_timestamp()")
	lab.Query(t, "UPDATE lab.clusters SET state = 'pending' WHERE name = 'retried'")
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'retried'", "failed", patience)
	if message := lab.Query(t, "SELECT message FROM lab.clusters WHERE name = 'retried'"); message == "" {
		t.Errorf("no reason after the second try (since %s)", before)
	}
}

func TestLaunchScriptRepeatsItself(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "watched", "", "")
	lab.Query(t, "INSERT INTO lab.lanes (lane) VALUES ('watched')")
	lab.Query(t, "INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('watched-1', 'watched', 'watched', 1, 1, 1), ('watched-2', 'watched', 'watched', 1, 1, 1)")
	watch := make(chan testenv.Output, 1)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		watch <- lab.Psql(ctx, t, "-v", "ON_ERROR_STOP=1", "-v", "every=0.2", "-v", "lane=watched", "-f", "../sql/launch.sql")
	}()
	if state, message := ended(t, lab, "watched-2"); state != "done" {
		t.Errorf("second run is %s: %s", state, message)
	}
	awaitTrue(t, "the queue is empty", func() bool {
		return lab.Query(t, "SELECT note FROM lab.launches WHERE lane = 'watched'") == "queue is empty"
	})
	interrupt()
	select {
	case out := <-watch:
		for _, want := range []string{"started watched-1, 1 more queued", "started watched-2, 0 more queued"} {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("\\watch did not print %q:\n%s\n%s", want, out.Stdout, out.Stderr)
			}
		}
	case <-time.After(patience):
		t.Error("psql does not end")
	}
}
