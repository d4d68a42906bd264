-- One row per run, for people. The columns up to error are fixed: they are
-- what users of such labs already read.

SET LOCAL ROLE lab_owner;

DROP VIEW IF EXISTS lab.results;
CREATE VIEW lab.results AS
SELECT r.run,
       r.cluster,
       CASE WHEN a.run IS NULL THEN c.server_version ELSE a.server_version END AS server_version,
       CASE WHEN a.run IS NULL THEN c.cpu ELSE a.cpu_limit END AS cpu_limit,
       r.clients,
       r.state,
       round(a.tps::numeric) AS tps,
       round(a.latency_ms::numeric, 3) AS latency_ms,
       round(a.pg_cpu_avg::numeric, 2) AS pg_cpu_avg,
       round((a.tps / nullif(a.pg_cpu_avg, 0))::numeric) AS tps_per_core,
       round(a.pg_cpu_peak::numeric, 2) AS pg_cpu_peak,
       pg_size_pretty(a.pg_memory_peak_bytes) AS pg_memory_peak,
       a.samples,
       round(a.pgbench_cpu_avg::numeric, 2) AS pgbench_cpu_avg,
       CASE WHEN r.state <> 'queued' THEN r.message
            WHEN c.name IS NULL THEN format('cluster "%s" does not exist', r.cluster)
            WHEN c.state = 'failed' THEN format('cluster "%s" failed%s', c.name, ': ' || c.message)
            WHEN c.state <> 'ready' THEN format('waiting for cluster "%s": %s since %s%s', c.name, c.state,
                                                to_char(c.state_since, 'YYYY-MM-DD HH24:MI TZ'), ', ' || c.message)
            END AS error,
       a.warnings
  FROM lab.runs r
  -- A retried run is queued again: its last attempt is history by then.
  LEFT JOIN lab_private.attempts a ON a.run = r.run AND a.attempt = r.attempt AND r.state <> 'queued'
  LEFT JOIN lab.clusters c ON c.name = r.cluster;

GRANT SELECT ON lab.results TO lab_viewer, lab_controller;

COMMENT ON VIEW lab.results IS 'One row per run, rounded for people: the last attempt of each. Exact numbers and earlier attempts are in lab.measurements.';
COMMENT ON COLUMN lab.results.run IS 'Name of the run.';
COMMENT ON COLUMN lab.results.cluster IS 'Cluster that it measured.';
COMMENT ON COLUMN lab.results.server_version IS 'Version that the server reported; NULL until known.';
COMMENT ON COLUMN lab.results.cpu_limit IS 'CPU limit of the server, as written; NULL: no limit.';
COMMENT ON COLUMN lab.results.clients IS 'Sessions that pgbench held open.';
COMMENT ON COLUMN lab.results.state IS 'queued, launched, preparing, warming, running, done, failed or canceled.';
COMMENT ON COLUMN lab.results.tps IS 'Transactions per second, without the initial connection time.';
COMMENT ON COLUMN lab.results.latency_ms IS 'Mean latency of a transaction, in milliseconds.';
COMMENT ON COLUMN lab.results.pg_cpu_avg IS 'CPU that the server used over the window, in cores.';
COMMENT ON COLUMN lab.results.tps_per_core IS 'tps divided by pg_cpu_avg: throughput per core used.';
COMMENT ON COLUMN lab.results.pg_cpu_peak IS 'Highest CPU use of the server over one second of the window, in cores.';
COMMENT ON COLUMN lab.results.pg_memory_peak IS 'Highest memory use of the server in the window, page cache included.';
COMMENT ON COLUMN lab.results.samples IS 'Readings of the server''s counters inside the window.';
COMMENT ON COLUMN lab.results.pgbench_cpu_avg IS 'CPU that pgbench itself used over the window, in cores; near its limit or its threads, pgbench set the pace.';
COMMENT ON COLUMN lab.results.error IS 'Why the run failed or was canceled, or what a queued one waits for; NULL when nothing is wrong.';
COMMENT ON COLUMN lab.results.warnings IS 'What makes the numbers doubtful, in words; NULL: nothing found, or not measured.';

RESET ROLE;
