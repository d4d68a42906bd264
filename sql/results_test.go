package sql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// measured launches a run and finishes it as the controller does.
func measured(t testing.TB, r *room, run string) {
	t.Helper()
	exec(t, r.owner, "INSERT INTO lab.runs (run, cluster, seconds) VALUES ($1, 'pg16', 90)", run)
	exec(t, r.owner, "INSERT INTO lab.launches DEFAULT VALUES")
	exec(t, r.owner, `UPDATE lab_private.attempts SET transactions = 206280, tps = 2292.4, latency_ms = 3.49123, window_s = 90,
		pg_cpu_seconds = 176.4, pg_cpu_avg = 1.961, pg_cpu_peak = 1.98, pg_memory_peak_bytes = 155 * 1048576, samples = 911, pgbench_cpu_seconds = 67.5, pgbench_cpu_avg = 0.7512,
		warnings = '{"scale 10 is close to clients 8"}' WHERE run = $1`, run)
	exec(t, r.owner, "UPDATE lab.runs SET state = 'done', window_start = now() - interval '90 s', window_end = now(), finished_at = now() WHERE run = $1", run)
	r.release(t, "default")
}

func TestResultsAreForPeople(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		measured(t, v.room, "x")
		rows, err := v.as(t, "viewer").Query(t.Context(), "SELECT * FROM lab.results")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, field := range rows.FieldDescriptions() {
			names = append(names, field.Name)
		}
		rows.Close()
		// What users of such labs already read, in this order.
		want := []string{"run", "cluster", "server_version", "cpu_limit", "clients", "state", "tps", "latency_ms", "pg_cpu_avg", "tps_per_core",
			"pg_cpu_peak", "pg_memory_peak", "samples", "pgbench_cpu_avg", "error", "warnings"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		got := one[string](t, v.as(t, "viewer"), "SELECT r::text FROM lab.results r")
		if want := `(x,pg16,17.10,2,8,done,2292,3.491,1.96,1169,1.98,"155 MB",911,0.75,,"{""scale 10 is close to clients 8""}")`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestMeasurementsAreForMachines(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		measured(t, v.room, "x")
		exec(t, v.as(t, "operator"), "UPDATE lab.runs SET state = 'queued'")
		exec(t, v.as(t, "operator"), "INSERT INTO lab.launches DEFAULT VALUES")
		got := column[string](t, v.as(t, "viewer"), `SELECT concat_ws(' ', attempt, is_latest, state, tps, round(tps_per_core::numeric, 3), round(cpu_us_per_tx::numeric, 3),
			round(pgbench_cpu_us_per_tx::numeric, 3), pg_memory_peak_bytes, seconds) FROM lab.measurements ORDER BY attempt`)
		want := []string{"1 f 2292.4 1168.995 855.148 327.225 162529280 90", "2 t launched 90"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestResultsOfWhatIsNotMeasured(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16", "slow", "broken", "gone")
	exec(t, r.owner, "UPDATE lab.clusters SET state = 'creating', message = 'running initdb', server_version = NULL WHERE name = 'slow'")
	exec(t, r.owner, "UPDATE lab.clusters SET state_since = '2026-01-02 03:04:05Z' WHERE name = 'slow'")
	exec(t, r.owner, "UPDATE lab.clusters SET state = 'failed', message = 'no space left' WHERE name = 'broken'")
	measured(t, r, "retried")
	operator := r.connect(t, "operator")
	exec(t, operator, "UPDATE lab.runs SET state = 'queued'")
	exec(t, operator, `INSERT INTO lab.runs (run, cluster) VALUES ('canceled', 'pg16'), ('waits', 'slow'), ('will-fail', 'broken'), ('orphan', 'gone')`)
	exec(t, r.owner, "DELETE FROM lab.clusters WHERE name = 'gone'")
	exec(t, operator, "UPDATE lab.runs SET state = 'canceled' WHERE run = 'canceled'")
	exec(t, operator, "SET timezone = 'UTC'")
	got := column[string](t, operator, "SELECT concat_ws(' | ', run, server_version, state, tps, error) FROM lab.results ORDER BY run")
	want := []string{
		"canceled | 17.10 | canceled | canceled by operator",
		`orphan | queued | cluster "gone" does not exist`,
		"retried | 17.10 | queued",
		`waits | queued | waiting for cluster "slow": creating since 2026-01-02 03:04 UTC, running initdb`,
		`will-fail | 17.10 | queued | cluster "broken" failed: no space left`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResultsOutliveTheirCluster(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	measured(t, r, "x")
	exec(t, r.owner, "DELETE FROM lab.clusters")
	exec(t, r.owner, "INSERT INTO lab.clusters (name, cpu) VALUES ('pg16', '8')")
	if got := one[string](t, r.owner, "SELECT concat_ws(' ', server_version, cpu_limit, tps) FROM lab.results"); got != "17.10 2 2292" {
		t.Errorf("the result says %q now", got)
	}
}

// BenchmarkResults reads lab.results with ten thousand finished runs and a
// million samples: no number of samples may slow it down.
func BenchmarkResults(b *testing.B) {
	r := newRoom(b, 15)
	r.ready(b, "pg16")
	exec(b, r.owner, "INSERT INTO lab.runs (run, cluster, state, attempt) SELECT 'r' || i, 'pg16', 'done', 1 FROM generate_series(1, 10000) i")
	exec(b, r.owner, `INSERT INTO lab_private.attempts (run, attempt, cluster, launched_at, tps, latency_ms, pg_cpu_avg, pg_memory_peak_bytes, samples)
		SELECT run, 1, cluster, now(), 1000 * random(), random(), random(), 1e9 * random(), 100 FROM lab.runs`)
	exec(b, r.owner, `INSERT INTO lab.usage (run, attempt, cluster, role, sampled_at, window_s, cpu_cores, memory_bytes)
		SELECT run, 1, cluster, 'postgres', now() + i * interval '1 s', 1, random(), 1e9 * random() FROM lab.runs, generate_series(1, 100) i`)
	exec(b, r.owner, "ANALYZE")
	for _, own := range []int{0, 15, 18} {
		v := &visit{room: r, door: door{engine: 15, own: own}, conns: map[string]*pgx.Conn{}}
		viewer := v.as(b, "viewer")
		b.Run(v.door.String(), func(b *testing.B) {
			for b.Loop() {
				if n := len(column[any](b, viewer, "SELECT r FROM lab.results r")); n != 10000 {
					b.Fatalf("%d rows", n)
				}
			}
		})
	}
}
