-- The command to start a run; read, it shows what each lane is doing.

SET LOCAL ROLE lab_owner;

DROP VIEW IF EXISTS lab.launches;
CREATE VIEW lab.launches AS
SELECT l.lane, h.run,
       coalesce(lab_private.lane_note(l.lane), CASE q.runs WHEN 0 THEN 'queue is empty' ELSE q.runs || ' queued' END) AS note
  FROM lab.lanes l
  LEFT JOIN lab_private.lane_holders h ON h.lane = l.lane
  CROSS JOIN LATERAL (SELECT count(*) AS runs FROM lab.runs r WHERE r.lane = l.lane AND r.state = 'queued') q;

CREATE TRIGGER launch INSTEAD OF INSERT ON lab.launches
  FOR EACH ROW EXECUTE FUNCTION lab_private.launches_insert();
GRANT SELECT ON lab.launches TO lab_viewer, lab_controller;
GRANT INSERT ON lab.launches TO lab_operator;

COMMENT ON VIEW lab.launches IS 'Command: an INSERT starts the first queued run of a lane, or says why not; RETURNING run, note tells. A SELECT shows what each lane is doing.';
COMMENT ON COLUMN lab.launches.lane IS 'The lane to start a run in. Left out: default.';
COMMENT ON COLUMN lab.launches.run IS 'The run that was started; NULL when none was. In a SELECT: the run that holds the lane. Not to be given.';
COMMENT ON COLUMN lab.launches.note IS 'What happened, in words: what was started, which run holds the lane and for how long, what the queue waits for.';

RESET ROLE;
