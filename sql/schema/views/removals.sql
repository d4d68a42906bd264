-- What deleted rows left behind and the lab is still taking down.

SET LOCAL ROLE lab_owner;

DROP VIEW IF EXISTS lab.removals;
CREATE VIEW lab.removals AS
SELECT t.kind, t.name, t.deleted_at AS since, t.message
  FROM lab_private.tombstones t;

GRANT SELECT ON lab.removals TO lab_viewer, lab_controller;

COMMENT ON VIEW lab.removals IS 'Objects of deleted rows that are still being removed: servers, data directories, tasks, measurements. Empty when everything is gone.';
COMMENT ON COLUMN lab.removals.kind IS 'cluster or run.';
COMMENT ON COLUMN lab.removals.name IS 'Name of the deleted row. A new row may have the same name already: it waits.';
COMMENT ON COLUMN lab.removals.since IS 'When the row was deleted.';
COMMENT ON COLUMN lab.removals.message IS 'Why it takes long; NULL while nothing is wrong.';

RESET ROLE;
