package sql_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pglab/internal/testenv"
)

// script runs one of the files that users run.
func script(t *testing.T, v *visit, kind string, args ...string) string {
	t.Helper()
	output := testenv.Psql(t.Context(), t, testenv.Call{Args: append(args, v.url(t, kind))})
	if output.Code != 0 || output.Stderr != "" {
		t.Errorf("psql %v: %+v", args, output)
	}
	for line := range strings.Lines(output.Stdout) {
		if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 120 {
			t.Errorf("psql %v: a line has %d columns: %s", args, width, line)
		}
	}
	return output.Stdout
}

func TestScriptsShowTheLab(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16", "a-cluster-with-a-name-of-40-characters-x")
		measured(t, v.room, "a-run-with-a-name-as-long-as-a-name-may-be-which-is-63-characte")
		exec(t, v.owner, "UPDATE lab_private.attempts SET server_version = '18.4 (Debian 18.4-1.pgdg11+1)', cpu_limit = '1000m', latency_ms = 12345.678, warnings = ARRAY[repeat('long ', 100)]")
		exec(t, v.owner, `INSERT INTO lab.usage (run, attempt, cluster, role, sampled_at, window_s, cpu_cores, memory_bytes)
			SELECT r.run, 1, 'pg16', role, r.window_start + i * interval '1 s', 1, 1.5, 200000000 FROM lab.runs r, generate_series(1, 3) i, unnest(ARRAY['postgres', 'pgbench']) role`)
		exec(t, v.as(t, "operator"), "INSERT INTO lab.runs (run, cluster) VALUES ('next', 'pg16'), ('after', 'a-cluster-with-a-name-of-40-characters-x')")

		if got := script(t, v, "operator", "-v", "once=1", "-f", "launch.sql"); !strings.Contains(got, " next | started next, 1 more queued") {
			t.Errorf("launch.sql says:\n%s", got)
		}
		if got := script(t, v, "operator", "-v", "once=1", "-v", "lane=default", "-f", "launch.sql"); !strings.Contains(got, "next is launched") {
			t.Errorf("launch.sql says:\n%s", got)
		}
		if got := script(t, v, "viewer", "-f", "results.sql"); !strings.Contains(got, " a-run-with-a-nam.. | 18.4 ") || strings.Index(got, "a-run") > strings.Index(got, "next") {
			t.Errorf("results.sql says:\n%s", got)
		}
		if got := script(t, v, "viewer", "-v", "run=a-run-with-a-name-as-long-as-a-name-may-be-which-is-63-characte", "-f", "usage.sql"); !strings.Contains(got, "      2 |     1.50 |         1.50 | 191 MB") {
			t.Errorf("usage.sql says:\n%s", got)
		}
		if got := script(t, v, "viewer", "-f", "usage.sql"); !strings.Contains(got, "Run next") {
			t.Errorf("usage.sql does not show the last run:\n%s", got)
		}
		if got := script(t, v, "viewer", "-f", "status.sql"); !strings.Contains(got, " default | next is launched") {
			t.Errorf("status.sql says:\n%s", got)
		}
	})
}
