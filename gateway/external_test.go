package main

import (
	"strings"
	"testing"

	"pglab/internal/testenv"
)

// TestExternalEngine keeps schema lab in a Postgres that pglab did not make;
// users' sessions log in there with their own SCRAM keys.
func TestExternalEngine(t *testing.T) {
	t.Parallel()
	own := testenv.Postgres(t, 18, testenv.TCP())
	if _, err := own.Connect(t, "postgres").Exec(t.Context(), "CREATE DATABASE benchlab"); err != nil {
		t.Fatal(err)
	}
	lab := testenv.StartLab(t, "--engine", own.TCPURL("benchlab"))
	if got := lab.Query(t, "SELECT current_user, current_database()"); got != "lab|benchlab" {
		t.Errorf("the session is %s", got)
	}
	// From 16 on, whoever changes a login needs ADMIN OPTION on it.
	lab.Query(t, "UPDATE lab.roles SET valid_until = 'infinity' WHERE role = 'lab'")
	ready(t, lab, "external", "", "")
	lane(t, lab, "external")
	lab.Query(t, "INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('external-1', 'external', 'external', 1, 1, 1)")
	if state, message := ended(t, lab, "external-1"); state != "done" {
		t.Errorf("the run is %s: %s", state, message)
	}
	out := testenv.Psql(t.Context(), t, testenv.Call{
		Args: []string{"-h", lab.Dir, "-p", lab.Port, "-U", "lab", "-wqAtc", "SELECT 1", "lab"},
	})
	if out.Code == 0 || !strings.Contains(out.Stderr, "needs a login with a password") {
		t.Errorf("over the socket: exit %d, %s", out.Code, out.Stderr)
	}
}
