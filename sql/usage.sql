-- What the server and pgbench used, second by second, in one run.
--
--   psql -f sql/usage.sql                the run that was started last
--   psql -v run=pg17-3 -f sql/usage.sql

\if :{?run}
\else
  \set run ''
  SELECT run FROM lab.runs WHERE started_at IS NOT NULL ORDER BY started_at DESC LIMIT 1 \gset
\endif
\echo Run :run

SELECT round(extract(epoch FROM u.sampled_at - coalesce(r.window_start, r.started_at)))::integer AS second,
       round(max(u.cpu_cores) FILTER (WHERE u.role = 'postgres')::numeric, 2) AS pg_cores,
       round(max(u.cpu_cores) FILTER (WHERE u.role = 'pgbench')::numeric, 2) AS client_cores,
       pg_size_pretty(max(u.memory_bytes) FILTER (WHERE u.role = 'postgres')) AS pg_memory,
       pg_size_pretty(max(u.read_bytes) FILTER (WHERE u.role = 'postgres')) AS pg_read,
       pg_size_pretty(max(u.write_bytes) FILTER (WHERE u.role = 'postgres')) AS pg_written,
       round(max(u.throttled_ms) FILTER (WHERE u.role = 'postgres')) AS pg_throttled_ms
  FROM lab.usage u
  JOIN lab.runs r ON r.run = u.run AND r.attempt = u.attempt
 WHERE u.run = :'run'
 GROUP BY second
 ORDER BY second;
