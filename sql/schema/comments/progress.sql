SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.progress IS 'pgbench''s own progress, a row a second of the timed part.';
COMMENT ON COLUMN lab.progress.run IS 'Name of the run.';
COMMENT ON COLUMN lab.progress.attempt IS 'Attempt of the run.';
COMMENT ON COLUMN lab.progress.at IS 'End of the second.';
COMMENT ON COLUMN lab.progress.tps IS 'Transactions per second.';
COMMENT ON COLUMN lab.progress.latency_ms IS 'Mean latency, in milliseconds; NULL: no transaction ended.';
COMMENT ON COLUMN lab.progress.stddev_ms IS 'Standard deviation of the latency, in milliseconds; NULL: no transaction ended.';
COMMENT ON COLUMN lab.progress.failed IS 'Failed transactions; NULL: pgbench did not say.';

RESET ROLE;
