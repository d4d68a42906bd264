-- Did Postgres 17 or 18 regress against 16? Three servers with 1 CPU each
-- that differ in their major version alone, measured one at a time by one
-- and the same pgbench, with more clients than the CPU can serve at once.
--
--   psql -f examples/regression-lab/lab.sql        -- 15-second runs
--   psql -v seconds=90 -f ...                      -- the real thing
--
-- Running the file again queues the same runs again, as new attempts.

\if :{?seconds}
\else
\set seconds 15
\endif
\if :{?warmup}
\else
\set warmup 3
\endif
-- Where the lab cannot limit CPU and memory (SELECT * FROM lab.runtimes), give
-- empty limits; the servers then share what the host has.
\if :{?cpu}
\else
\set cpu 1
\endif
\if :{?memory}
\else
\set memory 1Gi
\endif

INSERT INTO lab.clusters (name, version, cpu, memory)
SELECT 'pg' || major, major, nullif(:'cpu', ''), nullif(:'memory', '')
  FROM (VALUES ('16'), ('17'), ('18')) AS majors (major)
ON CONFLICT DO NOTHING;

INSERT INTO lab.runs (run, cluster, scale, clients, threads, seconds, warmup_seconds)
SELECT cluster || '-8-clients', cluster, 10, 8, 1, :seconds, :warmup
  FROM (VALUES (1, 'pg16'), (2, 'pg17'), (3, 'pg18')) AS arms (position, cluster)
 ORDER BY position
ON CONFLICT DO NOTHING;

UPDATE lab.runs
   SET state = 'queued'
 WHERE run IN ('pg16-8-clients', 'pg17-8-clients', 'pg18-8-clients')
   AND state IN ('done', 'failed', 'canceled');

SELECT run, cluster, clients, seconds, state FROM lab.runs ORDER BY queued_at, queue_no;
