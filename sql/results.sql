-- lab.results in at most 120 columns, newest last, and below it what the
-- errors and warnings say.
--
--   psql -f sql/results.sql

SELECT CASE WHEN length(run) > 18 THEN left(run, 16) || '..' ELSE run END AS run,
       split_part(server_version, ' ', 1) AS server,
       cpu_limit AS cpu,
       clients,
       state,
       tps,
       latency_ms AS ms,
       pg_cpu_avg AS cores,
       tps_per_core AS "tps/core",
       replace(pg_memory_peak, ' ', '') AS memory,
       pgbench_cpu_avg AS client
  FROM (SELECT s.*, r.queued_at, r.queue_no FROM lab.results s JOIN lab.runs r USING (run)) results
 ORDER BY queued_at, queue_no;

SELECT count(*) > 0 AS pglab_has_notes FROM lab.results WHERE error IS NOT NULL OR warnings IS NOT NULL \gset
\if :pglab_has_notes
SELECT CASE WHEN length(run) > 18 THEN left(run, 16) || '..' ELSE run END AS run, left(note, 90) AS "error or warning"
  FROM (SELECT run, error AS note FROM lab.results WHERE error IS NOT NULL
        UNION ALL
        SELECT run, unnest(warnings) FROM lab.results) notes
 ORDER BY run, note;
\endif
