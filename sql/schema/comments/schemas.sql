SET LOCAL ROLE lab_owner;

COMMENT ON SCHEMA lab IS 'The lab: clusters under test, pgbench runs against them, what they used, results.';
COMMENT ON SCHEMA lab_private IS 'The lab''s own state. Not an interface: it changes without notice.';

COMMENT ON TABLE lab_private.lab IS 'One row: who this lab is. Objects on hosts carry the id.';
COMMENT ON TABLE lab_private.schema_files IS 'Which files of the schema were applied, and in what form.';
COMMENT ON TABLE lab_private.lane_holders IS 'Which attempt holds a lane, from its launch until nothing of it runs any more.';
COMMENT ON TABLE lab_private.lane_releases IS 'When each lane was last let go; cooldown counts from here.';
COMMENT ON TABLE lab_private.tombstones IS 'Deleted rows whose objects are still to be removed; lab.removals shows them.';
COMMENT ON TABLE lab_private.datasets IS 'What pgbench -i made on a cluster, once it was complete.';
COMMENT ON TABLE lab_private.attempts IS 'One row per attempt: facts copied at launch and what was measured; lab.measurements shows them.';
COMMENT ON TABLE lab_private.log_positions IS 'How far the log of a server was copied into lab.logs.';
COMMENT ON SEQUENCE lab_private.queue_numbers IS 'Numbers of lab.runs.queue_no.';

RESET ROLE;
