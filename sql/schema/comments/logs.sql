SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.logs IS 'Whole logs of servers and of pgbench, line by line.';
COMMENT ON COLUMN lab.logs.object IS 'cluster NAME or run NAME.';
COMMENT ON COLUMN lab.logs.source IS 'Which log: postgres, or of a run init, warmup or bench.';
COMMENT ON COLUMN lab.logs.stream IS 'stdout or stderr.';
COMMENT ON COLUMN lab.logs.attempt IS 'Attempt of the run; NULL for a cluster.';
COMMENT ON COLUMN lab.logs.uid IS 'uid of the cluster; NULL for a run.';
COMMENT ON COLUMN lab.logs.line IS 'Number of the line, from 1.';
COMMENT ON COLUMN lab.logs.at IS 'When the lab read the line.';
COMMENT ON COLUMN lab.logs.text IS 'The line.';

RESET ROLE;
