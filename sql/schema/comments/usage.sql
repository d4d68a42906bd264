SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.usage IS 'Samples: what the server and pgbench used, a row a second. Measured over the second that ends at sampled_at. NULL: not measured.';
COMMENT ON COLUMN lab.usage.run IS 'Name of the run.';
COMMENT ON COLUMN lab.usage.attempt IS 'Attempt of the run.';
COMMENT ON COLUMN lab.usage.cluster IS 'Cluster that was measured.';
COMMENT ON COLUMN lab.usage.role IS 'Whose usage: postgres (the server) or pgbench (the client).';
COMMENT ON COLUMN lab.usage.sampled_at IS 'End of the sample.';
COMMENT ON COLUMN lab.usage.window_s IS 'Length of the sample, in seconds.';
COMMENT ON COLUMN lab.usage.cpu_cores IS 'CPU used, in cores.';
COMMENT ON COLUMN lab.usage.memory_bytes IS 'Memory in use at sampled_at, page cache included, in bytes.';
COMMENT ON COLUMN lab.usage.anon_bytes IS 'Anonymous memory, in bytes.';
COMMENT ON COLUMN lab.usage.file_bytes IS 'Page cache, in bytes.';
COMMENT ON COLUMN lab.usage.shmem_bytes IS 'Shared memory, in bytes.';
COMMENT ON COLUMN lab.usage.read_bytes IS 'Bytes read from devices.';
COMMENT ON COLUMN lab.usage.write_bytes IS 'Bytes written to devices.';
COMMENT ON COLUMN lab.usage.throttled_ms IS 'Time that a CPU limit stopped it for, added up over CPUs, in milliseconds.';
COMMENT ON COLUMN lab.usage.cpu_pressure_pct IS 'Share of the sample in which some process waited for a CPU, in percent.';
COMMENT ON COLUMN lab.usage.io_pressure_pct IS 'Share of the sample in which some process waited for I/O, in percent.';
COMMENT ON COLUMN lab.usage.memory_pressure_pct IS 'Share of the sample in which some process waited for memory, in percent.';

RESET ROLE;
