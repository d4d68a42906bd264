-- Every number of every attempt, for machines: raw units, nothing rounded.
-- NULL: not measured.

SET LOCAL ROLE lab_owner;

DROP VIEW IF EXISTS lab.measurements;
CREATE VIEW lab.measurements AS
SELECT a.run,
       a.attempt,
       a.attempt = r.attempt AS is_latest,
       CASE WHEN a.attempt = r.attempt THEN r.state END AS state,
       a.cluster,
       a.cluster_uid,
       a.runtime,
       a.server_version,
       a.cpu_limit,
       a.memory_limit,
       a.parameters,
       r.lane,
       r.experiment,
       r.round,
       r.position,
       r.scale,
       r.clients,
       r.threads,
       r.seconds,
       r.warmup_seconds,
       r.protocol,
       r.builtin,
       r.rate,
       a.launched_at,
       a.task_started_at,
       a.window_start,
       a.window_end,
       a.window_s,
       a.client_version,
       a.transaction_type,
       a.data_scale,
       a.transactions,
       a.failed,
       a.retried,
       a.skipped,
       a.tps,
       a.latency_ms,
       a.latency_stddev_ms,
       a.schedule_lag_ms,
       a.schedule_lag_max_ms,
       a.connect_ms,
       a.usage_source,
       a.samples,
       a.edge_gap_ms,
       a.tps / nullif(a.pg_cpu_avg, 0) AS tps_per_core,
       a.pg_cpu_seconds * 1e6 / nullif(a.transactions, 0) AS cpu_us_per_tx,
       a.pgbench_cpu_seconds * 1e6 / nullif(a.transactions, 0) AS pgbench_cpu_us_per_tx,
       a.pg_cpu_seconds,
       a.pg_cpu_user_seconds,
       a.pg_cpu_system_seconds,
       a.pg_cpu_avg,
       a.pg_cpu_peak,
       a.pg_periods,
       a.pg_throttled_periods,
       a.pg_throttled_ms,
       a.pg_memory_peak_bytes,
       a.pg_anon_peak_bytes,
       a.pg_file_peak_bytes,
       a.pg_shmem_peak_bytes,
       a.pg_read_bytes,
       a.pg_write_bytes,
       a.pg_cpu_pressure_pct,
       a.pg_io_pressure_pct,
       a.pg_memory_pressure_pct,
       a.pg_oom_kills,
       a.pgbench_cpu_seconds,
       a.pgbench_cpu_avg,
       a.pgbench_cpu_peak,
       a.pgbench_periods,
       a.pgbench_throttled_periods,
       a.pgbench_throttled_ms,
       a.pgbench_memory_peak_bytes,
       a.warnings
  FROM lab_private.attempts a
  JOIN lab.runs r ON r.run = a.run;

GRANT SELECT ON lab.measurements TO lab_viewer, lab_controller;

COMMENT ON VIEW lab.measurements IS 'One row per attempt of each run, for machines: every number that was measured, in raw units. NULL: not measured. A run that was never launched has no row.';
COMMENT ON COLUMN lab.measurements.run IS 'Name of the run.';
COMMENT ON COLUMN lab.measurements.attempt IS 'Number of the attempt: 1 for the first launch, one more for each retry.';
COMMENT ON COLUMN lab.measurements.is_latest IS 'Whether this is the run''s last attempt, the one that lab.results shows.';
COMMENT ON COLUMN lab.measurements.state IS 'State of the run; NULL for attempts before the last.';
COMMENT ON COLUMN lab.measurements.cluster IS 'Cluster that was measured.';
COMMENT ON COLUMN lab.measurements.cluster_uid IS 'uid of the cluster''s row: a cluster that was deleted and made anew has another one.';
COMMENT ON COLUMN lab.measurements.runtime IS 'Runtime of the cluster: docker, kubernetes, systemd or process.';
COMMENT ON COLUMN lab.measurements.server_version IS 'Version that the server reported; NULL when it was not known at launch.';
COMMENT ON COLUMN lab.measurements.cpu_limit IS 'CPU limit of the server, as written; NULL: no limit.';
COMMENT ON COLUMN lab.measurements.memory_limit IS 'Memory limit of the server, as written; NULL: no limit.';
COMMENT ON COLUMN lab.measurements.parameters IS 'Server parameters asked for by the cluster''s row.';
COMMENT ON COLUMN lab.measurements.lane IS 'Lane of the run.';
COMMENT ON COLUMN lab.measurements.experiment IS 'Experiment that the run belongs to; NULL: none.';
COMMENT ON COLUMN lab.measurements.round IS 'Round of the experiment; NULL: none.';
COMMENT ON COLUMN lab.measurements.position IS 'Position within the round; NULL: none.';
COMMENT ON COLUMN lab.measurements.scale IS 'Scale asked for.';
COMMENT ON COLUMN lab.measurements.clients IS 'Sessions that pgbench held open.';
COMMENT ON COLUMN lab.measurements.threads IS 'Threads of pgbench.';
COMMENT ON COLUMN lab.measurements.seconds IS 'Length of the timed part asked for, in seconds.';
COMMENT ON COLUMN lab.measurements.warmup_seconds IS 'Length of the warm-up before it, in seconds; 0: none.';
COMMENT ON COLUMN lab.measurements.protocol IS 'simple, extended or prepared.';
COMMENT ON COLUMN lab.measurements.builtin IS 'Builtin script; NULL when the run has a script of its own.';
COMMENT ON COLUMN lab.measurements.rate IS 'Transactions per second asked for; NULL: as fast as possible.';
COMMENT ON COLUMN lab.measurements.launched_at IS 'When the attempt took its lane.';
COMMENT ON COLUMN lab.measurements.task_started_at IS 'When the timed pgbench started; NULL when it never did.';
COMMENT ON COLUMN lab.measurements.window_start IS 'Start of the measured window; NULL when not known.';
COMMENT ON COLUMN lab.measurements.window_end IS 'End of the measured window; NULL when not known.';
COMMENT ON COLUMN lab.measurements.window_s IS 'Length of the measured window, in seconds.';
COMMENT ON COLUMN lab.measurements.client_version IS 'Version of pgbench.';
COMMENT ON COLUMN lab.measurements.transaction_type IS 'What pgbench says it ran.';
COMMENT ON COLUMN lab.measurements.data_scale IS 'Scale of the data that pgbench found; NULL for scripts of one''s own.';
COMMENT ON COLUMN lab.measurements.transactions IS 'Transactions that ended.';
COMMENT ON COLUMN lab.measurements.failed IS 'Transactions that failed; NULL: pgbench did not say.';
COMMENT ON COLUMN lab.measurements.retried IS 'Transactions that were retried; NULL: pgbench did not say.';
COMMENT ON COLUMN lab.measurements.skipped IS 'Transactions skipped because they were late (with rate); NULL: pgbench did not say.';
COMMENT ON COLUMN lab.measurements.tps IS 'Transactions per second, without the initial connection time.';
COMMENT ON COLUMN lab.measurements.latency_ms IS 'Mean latency of a transaction, in milliseconds.';
COMMENT ON COLUMN lab.measurements.latency_stddev_ms IS 'Standard deviation of the latency, in milliseconds.';
COMMENT ON COLUMN lab.measurements.schedule_lag_ms IS 'Mean lag behind the schedule that rate asks for, in milliseconds; NULL without rate.';
COMMENT ON COLUMN lab.measurements.schedule_lag_max_ms IS 'Largest lag behind the schedule, in milliseconds; NULL without rate.';
COMMENT ON COLUMN lab.measurements.connect_ms IS 'Initial connection time, in milliseconds.';
COMMENT ON COLUMN lab.measurements.usage_source IS 'Where counters were read: cgroup v1, cgroup v2 or proc; NULL: nowhere.';
COMMENT ON COLUMN lab.measurements.samples IS 'Readings of the server''s counters inside the window.';
COMMENT ON COLUMN lab.measurements.edge_gap_ms IS 'The wider of the two gaps between readings around the edges of the window, in milliseconds.';
COMMENT ON COLUMN lab.measurements.tps_per_core IS 'tps divided by pg_cpu_avg.';
COMMENT ON COLUMN lab.measurements.cpu_us_per_tx IS 'CPU time of the server per transaction, in microseconds.';
COMMENT ON COLUMN lab.measurements.pgbench_cpu_us_per_tx IS 'CPU time of pgbench per transaction, in microseconds.';
COMMENT ON COLUMN lab.measurements.pg_cpu_seconds IS 'CPU time of the server over the window, in seconds.';
COMMENT ON COLUMN lab.measurements.pg_cpu_user_seconds IS 'The part of it spent in user mode, in seconds.';
COMMENT ON COLUMN lab.measurements.pg_cpu_system_seconds IS 'The part of it spent in the kernel, in seconds.';
COMMENT ON COLUMN lab.measurements.pg_cpu_avg IS 'CPU that the server used over the window, in cores.';
COMMENT ON COLUMN lab.measurements.pg_cpu_peak IS 'Highest CPU use of the server over one second of the window, in cores.';
COMMENT ON COLUMN lab.measurements.pg_periods IS 'Enforcement periods of the server''s CPU limit in the window.';
COMMENT ON COLUMN lab.measurements.pg_throttled_periods IS 'Periods in which the limit stopped the server.';
COMMENT ON COLUMN lab.measurements.pg_throttled_ms IS 'Time that the limit stopped the server for, added up over CPUs, in milliseconds.';
COMMENT ON COLUMN lab.measurements.pg_memory_peak_bytes IS 'Highest memory use of the server in the window, page cache included, in bytes.';
COMMENT ON COLUMN lab.measurements.pg_anon_peak_bytes IS 'Highest anonymous memory of the server in the window, in bytes.';
COMMENT ON COLUMN lab.measurements.pg_file_peak_bytes IS 'Highest page cache of the server in the window, in bytes.';
COMMENT ON COLUMN lab.measurements.pg_shmem_peak_bytes IS 'Highest shared memory of the server in the window, in bytes.';
COMMENT ON COLUMN lab.measurements.pg_read_bytes IS 'Bytes that the server read from devices in the window.';
COMMENT ON COLUMN lab.measurements.pg_write_bytes IS 'Bytes that the server wrote to devices in the window.';
COMMENT ON COLUMN lab.measurements.pg_cpu_pressure_pct IS 'Share of the window in which some process of the server waited for a CPU, in percent.';
COMMENT ON COLUMN lab.measurements.pg_io_pressure_pct IS 'Share of the window in which some process of the server waited for I/O, in percent.';
COMMENT ON COLUMN lab.measurements.pg_memory_pressure_pct IS 'Share of the window in which some process of the server waited for memory, in percent.';
COMMENT ON COLUMN lab.measurements.pg_oom_kills IS 'Processes of the server that the kernel killed for memory in the window.';
COMMENT ON COLUMN lab.measurements.pgbench_cpu_seconds IS 'CPU time of pgbench over the window, in seconds.';
COMMENT ON COLUMN lab.measurements.pgbench_cpu_avg IS 'CPU that pgbench used over the window, in cores.';
COMMENT ON COLUMN lab.measurements.pgbench_cpu_peak IS 'Highest CPU use of pgbench over one second of the window, in cores.';
COMMENT ON COLUMN lab.measurements.pgbench_periods IS 'Enforcement periods of pgbench''s CPU limit in the window.';
COMMENT ON COLUMN lab.measurements.pgbench_throttled_periods IS 'Periods in which the limit stopped pgbench.';
COMMENT ON COLUMN lab.measurements.pgbench_throttled_ms IS 'Time that the limit stopped pgbench for, added up over CPUs, in milliseconds.';
COMMENT ON COLUMN lab.measurements.pgbench_memory_peak_bytes IS 'Highest memory use of pgbench in the window, in bytes.';
COMMENT ON COLUMN lab.measurements.warnings IS 'What makes the numbers doubtful, in words; NULL: nothing found, or not measured.';

RESET ROLE;
