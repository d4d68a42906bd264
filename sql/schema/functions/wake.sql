-- LISTEN lab: one short word for each statement that changed what somebody
-- may be waiting for: clusters, runs or lanes.

SET LOCAL ROLE lab_owner;

CREATE OR REPLACE FUNCTION lab_private.wake() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('lab', TG_TABLE_NAME);
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER wake AFTER INSERT OR DELETE OR UPDATE OF state ON lab.clusters
  FOR EACH STATEMENT EXECUTE FUNCTION lab_private.wake();
CREATE OR REPLACE TRIGGER wake AFTER INSERT OR DELETE OR UPDATE OF state, lane, queued_at ON lab.runs
  FOR EACH STATEMENT EXECUTE FUNCTION lab_private.wake();
CREATE OR REPLACE TRIGGER wake AFTER INSERT OR DELETE OR UPDATE OF autolaunch, cooldown_seconds ON lab.lanes
  FOR EACH STATEMENT EXECUTE FUNCTION lab_private.wake();

RESET ROLE;
