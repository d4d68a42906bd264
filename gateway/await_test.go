package main

import (
	"strings"
	"testing"
	"time"

	"pglab/internal/testenv"
)

// awaitTrue repeats condition until it holds.
func awaitTrue(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("after %v it is still not so that %s", patience, what)
}

// onCluster asks a server under test, through the gateway, as the lab's first login.
func onCluster(t *testing.T, lab *testenv.Lab, cluster, sql string) string {
	t.Helper()
	out := lab.Psql(t.Context(), t, "-v", "ON_ERROR_STOP=1", "-qAtc", sql, cluster)
	if out.Code != 0 {
		t.Fatalf("%s on %s: psql exited with %d: %s", sql, cluster, out.Code, out.Stderr)
	}
	return strings.TrimSpace(out.Stdout)
}

// ready inserts a cluster and waits until it is ready.
func ready(t *testing.T, lab *testenv.Lab, name, columns, values string) {
	t.Helper()
	if columns != "" {
		columns, values = ", "+columns, ", "+values
	}
	lab.Query(t, "INSERT INTO lab.clusters (name"+columns+") VALUES ('"+name+"'"+values+")")
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = '"+name+"'", "ready", patience)
}

// ended waits until a run is in a final state and returns state and message.
func ended(t *testing.T, lab *testenv.Lab, run string) (state, message string) {
	t.Helper()
	lab.Await(t, "SELECT state IN ('done', 'failed', 'canceled') FROM lab.runs WHERE run = '"+run+"'", "t", patience)
	state, message, _ = strings.Cut(lab.Query(t, "SELECT state, message FROM lab.runs WHERE run = '"+run+"'"), "|")
	return state, message
}

// lane makes a lane that launches by itself.
func lane(t *testing.T, lab *testenv.Lab, name string) {
	t.Helper()
	lab.Query(t, "INSERT INTO lab.lanes (lane, autolaunch) VALUES ('"+name+"', true)")
}
