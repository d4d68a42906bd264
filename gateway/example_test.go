package main

import (
	"fmt"
	"strings"
	"testing"

	"pglab/internal/testenv"
)

// TestExampleRunsAsShipped runs examples/regression-lab to its results, twice:
// the second time its runs are new attempts.
func TestExampleRunsAsShipped(t *testing.T) {
	lab := testenv.StartLab(t)
	for attempt := 1; attempt <= 2; attempt++ {
		args := []string{"regression-lab"}
		if attempt == 2 {
			args = append(args, "-v", "seconds=2", "-v", "warmup=0")
		}
		out := testenv.Run(t.Context(), t, "../examples/run.sh", testenv.Call{Args: args, Env: lab.Env()})
		if out.Code != 0 {
			t.Fatalf("attempt %d: exit code %d\n%s\n%s", attempt, out.Code, out.Stdout, out.Stderr)
		}
		for line := range strings.Lines(out.Stdout) {
			if len(strings.TrimRight(line, "\n")) > 120 {
				t.Errorf("wider than 120 columns: %s", line)
			}
		}
		for _, version := range []string{"16.", "17.", "18."} {
			if !strings.Contains(out.Stdout, "| "+version) {
				t.Errorf("attempt %d: no row of Postgres %s\n%s", attempt, version, out.Stdout)
			}
		}
		if got := lab.Query(t, "SELECT count(*) FROM lab.results WHERE state = 'done' AND tps > 0 AND "+measuredOrExplained("pg_cpu_avg BETWEEN 0.01 AND 1.05")); got != "3" {
			t.Errorf("attempt %d: %s of 3 runs are measured\n%s", attempt, got, out.Stdout)
		}
		if got := lab.Query(t, "SELECT min(attempt), max(attempt) FROM lab.runs"); got != fmt.Sprintf("%d|%d", attempt, attempt) {
			t.Errorf("attempts are %s", got)
		}
	}
	out := lab.Psql(t.Context(), t, "-v", "ON_ERROR_STOP=1", "-f", "../examples/regression-lab/remove.sql")
	if out.Code != 0 {
		t.Error(out.Stderr)
	}
	lab.Await(t, "SELECT count(*) FROM lab.removals", "0", patience)
}
