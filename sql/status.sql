-- What the lab is doing: clusters, lanes, runs that are not finished, removals.
--
--   psql -f sql/status.sql

SELECT name AS cluster, runtime, coalesce(server_version, version) AS version, state, left(message, 70) AS message
  FROM lab.clusters ORDER BY created_at, name;

SELECT lane, note FROM lab.launches ORDER BY lane;

SELECT s.run, s.cluster, r.lane, s.state, left(s.error, 70) AS "waits for"
  FROM lab.results s JOIN lab.runs r USING (run)
 WHERE s.state NOT IN ('done', 'failed', 'canceled')
 ORDER BY s.state = 'queued', r.queued_at, r.queue_no LIMIT 30;

SELECT kind, name, since, left(message, 70) AS message FROM lab.removals ORDER BY since;
