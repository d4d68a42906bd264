-- lab.lanes: defaults, checks, and what must not be deleted.

SET LOCAL ROLE lab_owner;

CREATE OR REPLACE FUNCTION lab_private.lanes_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong lab_private.refusal;
BEGIN
  NEW.autolaunch := coalesce(NEW.autolaunch, false);
  NEW.cooldown_seconds := coalesce(NEW.cooldown_seconds, 0);
  wrong := coalesce(
    lab_private.missing('lane', NEW.lane, 'Give the lane a name.'),
    lab_private.bad_name('lane', NEW.lane),
    lab_private.out_of_range('cooldown_seconds', NEW.cooldown_seconds, 0, 86400, 'Left out, it is 0: the next run may follow at once.'));
  IF wrong.code IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = wrong.code, MESSAGE = wrong.message, HINT = wrong.hint;
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.lane <> OLD.lane THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('lane "%s" cannot be renamed', OLD.lane), HINT = 'Insert another lane and move queued runs there: UPDATE lab.runs SET lane = ... .';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION lab_private.lanes_keep() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  busy text;
BEGIN
  SELECT CASE WHEN OLD.lane = 'default' THEN 'is where runs go that name no lane'
              WHEN h.run IS NOT NULL THEN format('is held by run "%s"', h.run)
              WHEN q.runs > 0 THEN format('has %s queued', CASE q.runs WHEN 1 THEN '1 run' ELSE q.runs || ' runs' END) END INTO busy
    FROM (SELECT count(*) AS runs FROM lab.runs r WHERE r.lane = OLD.lane AND r.state = 'queued') q
    LEFT JOIN lab_private.lane_holders h ON h.lane = OLD.lane;
  IF busy IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('lane "%s" %s', OLD.lane, busy),
      HINT = CASE WHEN OLD.lane = 'default' THEN 'It stays.'
                  ELSE 'Delete its runs, cancel them, or move queued ones: UPDATE lab.runs SET lane = ''default'' WHERE ... .' END;
  END IF;
  DELETE FROM lab_private.lane_releases l WHERE l.lane = OLD.lane;
  RETURN OLD;
END
$$;

CREATE OR REPLACE TRIGGER b_check BEFORE INSERT OR UPDATE ON lab.lanes
  FOR EACH ROW EXECUTE FUNCTION lab_private.lanes_check();
CREATE OR REPLACE TRIGGER keep BEFORE DELETE ON lab.lanes
  FOR EACH ROW EXECUTE FUNCTION lab_private.lanes_keep();

RESET ROLE;
