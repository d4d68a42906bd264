SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.lanes IS 'Lanes: runs of one lane never overlap. INSERT, UPDATE and DELETE by admins; the lane default always exists.';
COMMENT ON COLUMN lab.lanes.lane IS 'Name of the lane.';
COMMENT ON COLUMN lab.lanes.autolaunch IS 'Whether the lab starts queued runs by itself. Default false: an INSERT into lab.launches starts one.';
COMMENT ON COLUMN lab.lanes.cooldown_seconds IS 'Pause between the end of a run and the start of the next, in seconds. Default 0.';

RESET ROLE;
