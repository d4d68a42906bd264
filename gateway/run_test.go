package main

import (
	"strings"
	"testing"
)

func TestRunIsMeasured(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "measured", "version, cpu, parameters", `'`+oldMajor+`', '1', '{"shared_buffers": "64MB"}'`)
	lane(t, lab, "measured")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, threads, seconds, warmup_seconds, protocol, client_cpu)
		VALUES ('measured-1', 'measured', 'measured', 2, 4, 2, 4, 1, 'prepared', '500m')`)
	if state, message := ended(t, lab, "measured-1"); state != "done" {
		t.Fatalf("run is %s: %s", state, message)
	}
	for column, holds := range map[string]string{
		"window":         "extract(epoch FROM window_end - window_start) BETWEEN 2 AND 5",
		"tps":            "tps > 0 AND abs(tps * window_s - transactions) < 1",
		"latency":        "latency_ms > 0 AND latency_stddev_ms > 0",
		"server cpu":     measuredOrExplained("pg_cpu_avg > 0 AND pg_cpu_avg <= 1.05 AND abs(pg_cpu_avg * window_s - pg_cpu_seconds) < 0.001"),
		"cpu parts":      measuredOrExplained("abs(pg_cpu_user_seconds + pg_cpu_system_seconds - pg_cpu_seconds) < 0.15"),
		"client cpu":     measuredOrExplained("pgbench_cpu_avg > 0 AND pgbench_cpu_avg <= 0.55"),
		"memory":         "pg_memory_peak_bytes > 32 * 1024 * 1024 AND pg_anon_peak_bytes > 0",
		"samples":        measuredOrExplained("samples >= 20"),
		"edges":          measuredOrExplained("edge_gap_ms < 250"),
		"facts":          "server_version LIKE '" + oldMajor + ".%' AND cpu_limit = '1' AND runtime = 'process' AND client_version IS NOT NULL",
		"summary":        "data_scale = 2 AND failed = 0 AND transaction_type LIKE '%TPC-B%' AND connect_ms > 0",
		"not applicable": "rate IS NULL AND skipped IS NULL AND schedule_lag_ms IS NULL",
	} {
		if got := lab.Query(t, "SELECT "+holds+" FROM lab.measurements WHERE run = 'measured-1'"); got != "t" {
			t.Errorf("%s: %s is %q", column, holds, got)
		}
	}
	if got := lab.Query(t, "SELECT count(*) BETWEEN 2 AND 5 FROM lab.progress WHERE run = 'measured-1'"); got != "t" {
		t.Error("lab.progress has not a line a second")
	}
	roles := lab.Query(t, `SELECT string_agg(role || ' ' || (n BETWEEN 3 AND 8), ', ' ORDER BY role)
		FROM (SELECT role, count(*) AS n FROM lab.usage WHERE run = 'measured-1' GROUP BY role) AS s`)
	if roles != "pgbench true, postgres true" {
		t.Errorf("lab.usage has rows: %s", roles)
	}
	sources := lab.Query(t, "SELECT string_agg(DISTINCT source, ' ' ORDER BY source) FROM lab.logs WHERE object = 'run measured-1'")
	if sources != "bench init warmup" {
		t.Errorf("lab.logs has output of: %s", sources)
	}
	if got := onCluster(t, lab, "measured", "SHOW shared_buffers"); got != "64MB" {
		t.Errorf("shared_buffers is %s", got)
	}
}

// measuredOrExplained is SQL for "this holds, unless the machine stood still
// at an edge of the window and a warning says so".
func measuredOrExplained(holds string) string {
	return "(" + holds + " OR array_to_string(warnings, ' ') LIKE '%not measured at both edges%')"
}

func TestDataSetIsMadeOnceAndRunAgainIsAnotherAttempt(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "again", "", "")
	lane(t, lab, "again")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds, builtin) VALUES ('again-1', 'again', 'again', 1, 1, 1, 'select-only')`)
	if state, message := ended(t, lab, "again-1"); state != "done" {
		t.Fatalf("run is %s: %s", state, message)
	}
	lab.Query(t, "UPDATE lab.runs SET state = 'queued' WHERE run = 'again-1'")
	lab.Await(t, "SELECT attempt FROM lab.runs WHERE run = 'again-1'", "2", patience)
	if state, message := ended(t, lab, "again-1"); state != "done" {
		t.Fatalf("second attempt is %s: %s", state, message)
	}
	attempts := lab.Query(t, "SELECT string_agg(DISTINCT attempt::text, ' ') FROM lab.logs WHERE object = 'run again-1' AND source = 'init'")
	if attempts != "1" {
		t.Errorf("the data set was made in attempts %q", attempts)
	}
	if got := lab.Query(t, "SELECT count(*) FROM lab.measurements WHERE run = 'again-1' AND tps > 0"); got != "2" {
		t.Errorf("%s attempts were measured", got)
	}
}

func TestScriptRateAndOddText(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "scripted", "parameters", `'{"log_line_prefix": "%m $(touch /tmp/pglab-injected) '';"}'`)
	lane(t, lab, "scripted")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, clients, seconds, rate, init, script)
		VALUES ('scripted-1', 'scripted', 'scripted', 2, 3, 50, 'never', E'\\set n random(1, :scale)\nSELECT :n, $$ "$(id)"; ''\`+"`id`"+` $$;')`)
	if state, message := ended(t, lab, "scripted-1"); state != "done" {
		t.Fatalf("run is %s: %s", state, message)
	}
	if got := lab.Query(t, "SELECT tps BETWEEN 20 AND 80 AND schedule_lag_ms IS NOT NULL AND data_scale IS NOT NULL FROM lab.measurements WHERE run = 'scripted-1'"); got != "t" {
		t.Errorf("the rate was not kept: %s", lab.Query(t, "SELECT tps, schedule_lag_ms, data_scale FROM lab.measurements WHERE run = 'scripted-1'"))
	}
	if got := onCluster(t, lab, "scripted", "SHOW log_line_prefix"); got != `%m $(touch /tmp/pglab-injected) ';` {
		t.Errorf("log_line_prefix is %q", got)
	}
}

func TestCancelStopsTheTaskAndFreesTheLane(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "stopped", "", "")
	lane(t, lab, "stopped")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('stopped-1', 'stopped', 'stopped', 1, 2, 600)`)
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('stopped-2', 'stopped', 'stopped', 1, 2, 1)`)
	lab.Await(t, "SELECT state FROM lab.runs WHERE run = 'stopped-1'", "running", patience)
	lab.Query(t, "UPDATE lab.runs SET state = 'canceled' WHERE run = 'stopped-1'")
	if state, message := ended(t, lab, "stopped-2"); state != "done" {
		t.Errorf("the next run is %s: %s", state, message)
	}
	if got := lab.Query(t, "SELECT state, message, finished_at IS NOT NULL FROM lab.runs WHERE run = 'stopped-1'"); got != "canceled|canceled by lab|t" {
		t.Errorf("the canceled run is %s", got)
	}
}

func TestDeleteForgetsARunEvenWhileItRuns(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "forgotten", "", "")
	lane(t, lab, "forgotten")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('forgotten-1', 'forgotten', 'forgotten', 1, 2, 600)`)
	lab.Await(t, "SELECT count(*) > 0 FROM lab.progress WHERE run = 'forgotten-1'", "t", patience)
	lab.Query(t, "DELETE FROM lab.runs WHERE run = 'forgotten-1'")
	lab.Await(t, "SELECT count(*) FROM lab.removals WHERE name = 'forgotten-1'", "0", patience)
	left := lab.Query(t, `SELECT (SELECT count(*) FROM lab.progress WHERE run = 'forgotten-1') + (SELECT count(*) FROM lab.usage WHERE run = 'forgotten-1')
		+ (SELECT count(*) FROM lab.logs WHERE object = 'run forgotten-1') + (SELECT count(*) FROM lab.measurements WHERE run = 'forgotten-1')
		+ (SELECT count(*) FROM lab.launches WHERE lane = 'forgotten' AND run IS NOT NULL)`)
	if left != "0" {
		t.Errorf("%s rows are left", left)
	}
}

func TestDeleteRemovesAClusterInUse(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "removed", "", "")
	lane(t, lab, "removed")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('removed-1', 'removed', 'removed', 1, 2, 600)`)
	lab.Await(t, "SELECT state FROM lab.runs WHERE run = 'removed-1'", "running", patience)
	session := lab.Connect(t, "removed")
	lab.Query(t, "DELETE FROM lab.clusters WHERE name = 'removed'")
	lab.Query(t, "INSERT INTO lab.clusters (name) VALUES ('removed')")
	lab.Await(t, "SELECT count(*) FROM lab.removals WHERE name = 'removed'", "0", patience)
	if state, message := ended(t, lab, "removed-1"); state != "canceled" || message != `cluster "removed" was deleted` {
		t.Errorf("its run is %s: %s", state, message)
	}
	_, err := session.Exec(t.Context(), "SELECT 1")
	if err == nil {
		t.Error("a session on the removed cluster goes on")
	}
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'removed'", "ready", patience)
}

func TestQueueOfTenThousandRuns(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "queue", "", "")
	lab.Query(t, "INSERT INTO lab.lanes (lane) VALUES ('long')")
	lab.Query(t, "INSERT INTO lab.runs (cluster, lane, scale, clients, seconds) SELECT 'queue', 'long', 1, 1, 1 FROM generate_series(1, 10000)")
	if got := lab.Query(t, "INSERT INTO lab.launches (lane) VALUES ('long') RETURNING note"); !strings.HasSuffix(got, "9999 more queued") {
		t.Errorf("launch says %q", got)
	}
	lab.Query(t, "DELETE FROM lab.runs WHERE lane = 'long'")
	lab.Await(t, "SELECT count(*) FROM lab.removals r WHERE r.name LIKE 'queue-%'", "0", patience)
}
