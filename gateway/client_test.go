package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pglab/internal/testenv"
)

// TestClientsOfEveryMajor measures one server with pgbench of several majors,
// each asked for by client_version; the newest is the default, 13 is refused.
func TestClientsOfEveryMajor(t *testing.T) {
	t.Parallel()
	clients := filepath.Dir(filepath.Dir(filepath.Dir(testenv.Pgbench(t, 18))))
	lab := testenv.StartLab(t, "--postgres-dir", clients)
	ready(t, lab, "served", "version", "'"+newMajor+"'")
	lane(t, lab, "served")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds, client_version)
		SELECT 'by-' || coalesce(v, 'default'), 'served', 'served', 1, 2, 3, v FROM unnest(ARRAY['15', '17', '18', NULL]) AS v`)
	for run, version := range map[string]string{"by-15": "15.", "by-17": "17.", "by-18": "18.", "by-default": "18."} {
		if state, message := ended(t, lab, run); state != "done" {
			t.Errorf("%s is %s: %s", run, state, message)
			continue
		}
		got := lab.Query(t, fmt.Sprintf("SELECT client_version LIKE '%s%%', window_s BETWEEN 1 AND 4, tps > 0, latency_ms > 0, failed = 0 FROM lab.measurements WHERE run = '%s'", version, run))
		if got != "t|t|t|t|t" {
			t.Errorf("%s: version, window, tps, latency, failed are right: %s", run, got)
		}
	}
	out := lab.Psql(t.Context(), t, "-c", "INSERT INTO lab.runs (cluster, client_version) VALUES ('served', '13')")
	if out.Code == 0 || !strings.Contains(out.Stderr, "14") {
		t.Errorf("client 13: exit %d, %s", out.Code, out.Stderr)
	}
}
