package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pglab/internal/engine"
	"pglab/internal/postgres"
	"pglab/internal/testenv"
)

const (
	mostDirectMS  = 100.0
	mostForeignMS = 250.0
	foreignMajor  = 18
)

// benchmarkResults times lab.results in a lab that has been used for long:
// through the gateway, and from somebody's own Postgres behind postgres_fdw.
func benchmarkResults(b *testing.B, s *subject, table *report, size size) {
	say("filling the lab with %d finished runs and %d rows of usage", size.results, size.results*size.samples)
	inside := s.engineSession(b)
	fill(b, inside, size)
	own := attach(b, s)
	var direct, foreign, alone figures
	for i := range size.queries + 1 {
		inEngine, directly, remotely := timeResults(b, inside, size), timeResults(b, s.room, size), timeResults(b, own, size)
		if i == 0 {
			continue // it opens the foreign session and fills the caches
		}
		alone, direct, foreign = append(alone, inEngine), append(direct, directly), append(foreign, remotely)
	}
	table.section(fmt.Sprintf("SELECT * FROM lab.results: %d finished runs, %d rows of usage, %d queries each, ms",
		size.results, size.results*size.samples, len(direct)))
	table.add(b, row{what: "direct, through the gateway", value: ms(direct.median()), spread: tail(direct),
		bound: "<= 100 ms", broken: direct.median() > mostDirectMS})
	table.add(b, row{what: fmt.Sprintf("through postgres_fdw of Postgres %d", foreignMajor), value: ms(foreign.median()), spread: tail(foreign),
		bound: "<= 250 ms", broken: foreign.median() > mostForeignMS})
	table.add(b, row{what: "on the engine's own socket, without the gateway", value: ms(alone.median()), spread: tail(alone)})
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(direct.median(), "ms-direct")
	b.ReportMetric(foreign.median(), "ms-foreign")
}

// timeResults reads lab.results to its end, as psql would ask for it.
func timeResults(b *testing.B, conn *pgx.Conn, size size) float64 {
	b.Helper()
	before := time.Now()
	rows, err := conn.Query(b.Context(), "SELECT * FROM lab.results", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(before)
	if n < size.results {
		b.Fatalf("lab.results has %d rows", n)
	}
	return milliseconds(took)
}

// attach runs sql/setup.sql in a Postgres of the user's own.
func attach(b *testing.B, s *subject) *pgx.Conn {
	b.Helper()
	server := testenv.Postgres(b, foreignMajor)
	out := testenv.Psql(b.Context(), b, testenv.Call{
		Args: []string{"-v", "host=" + s.Host, "-v", "port=" + s.Port, "-v", "user=lab", "-f", "../../sql/setup.sql", server.URL("postgres")},
		Env:  []string{"PGLAB_PASSWORD=" + s.Password(b)},
	})
	if out.Code != 0 {
		b.Fatalf("setup.sql: psql exited with %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
	return server.Connect(b, "postgres")
}

// engineSession is a superuser's session in the engine, past the gateway.
func (s *subject) engineSession(b *testing.B) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), fmt.Sprintf("host=%s/engine/socket port=%d user=%s dbname=%s",
		s.Dir, postgres.Port, postgres.SuperUser, engine.Database))
	if err != nil {
		b.Fatalf("connecting to engine: %v", err)
	}
	b.Cleanup(func() { conn.Close(context.WithoutCancel(b.Context())) })
	return conn
}

// fill writes finished runs, with what was measured, past the triggers that
// only let them happen.
func fill(b *testing.B, conn *pgx.Conn, size size) {
	b.Helper()
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{"SET session_replication_role = replica", nil},
		{fillRuns, []any{size.results, cluster}},
		{fillAttempts, []any{cluster}},
		{fillUsage, []any{size.samples}},
		{"VACUUM ANALYZE lab.runs, lab.usage, lab_private.attempts", nil},
	} {
		if _, err := conn.Exec(b.Context(), statement.sql, statement.args...); err != nil {
			b.Fatalf("filling the lab: %v", err)
		}
	}
}

const fillRuns = `
INSERT INTO lab.runs (run, cluster, lane, scale, clients, threads, seconds, warmup_seconds, protocol, builtin, init, timeout_seconds,
       queued_at, queue_no, state, attempt, started_at, window_start, window_end, finished_at)
SELECT 'filled-' || n, $2::text, 'default', 10, 8, 1, 60, 0, 'simple', 'tpcb-like', 'auto', 660,
       at, nextval('lab_private.queue_numbers'), 'done', 1, at, at + interval '1 s', at + interval '61 s', at + interval '62 s'
  FROM (SELECT n, now() - n * interval '70 s' AS at FROM generate_series(1, $1::int) AS n) AS runs`

const fillAttempts = `
INSERT INTO lab_private.attempts (run, attempt, cluster, cluster_uid, runtime, server_version, cpu_limit, memory_limit, parameters,
       launched_at, task_started_at, client_version, transaction_type, data_scale, transactions, failed, tps, latency_ms, latency_stddev_ms,
       connect_ms, window_s, usage_source, samples, edge_gap_ms, pg_cpu_seconds, pg_cpu_avg, pg_cpu_peak, pg_memory_peak_bytes,
       pgbench_cpu_seconds, pgbench_cpu_avg, pgbench_cpu_peak, warnings)
SELECT r.run, 1, c.name, c.uid, c.runtime, c.server_version, '2', '2Gi', c.parameters,
       r.started_at, r.window_start, '15.18', 'builtin: TPC-B (sort of)', 10, 60 * 2500, 0, 2500 + random(), 3.2 + random(), 1.1,
       12.5, 60.0, 'cgroup v1', 790, 20.1, 60 * (1.5 + random()), 1.5 + random(), 2.9 + random(), 400000000 + 1000000 * random(),
       25.2, 0.42 + random(), 0.5, CASE WHEN random() < 0.1 THEN ARRAY['the server''s CPU was not measured at both edges of the window'] END
  FROM lab.runs r JOIN lab.clusters c ON c.name = $1 WHERE r.run LIKE 'filled-%'`

const fillUsage = `
INSERT INTO lab.usage (run, attempt, cluster, role, sampled_at, window_s, cpu_cores, memory_bytes, anon_bytes, file_bytes, shmem_bytes)
SELECT r.run, 1, r.cluster, CASE n % 2 WHEN 0 THEN 'postgres' ELSE 'pgbench' END, r.window_start + n / 2 * interval '1 s', 1,
       1.5 + random(), 400000000, 50000000, 200000000, 150000000
  FROM lab.runs r, generate_series(1, $1::int) AS n WHERE r.run LIKE 'filled-%'`
