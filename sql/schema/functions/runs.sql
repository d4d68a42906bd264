-- lab.runs: who may write what, and what a DELETE leaves to do.

SET LOCAL ROLE lab_owner;

-- Runs as the writer, so that current_user is whoever wrote. What users may
-- do: queue, change settings before the first launch, reorder, cancel, retry.
CREATE OR REPLACE FUNCTION lab_private.runs_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  moves     CONSTANT boolean := TG_OP = 'UPDATE' AND NEW.state IS DISTINCT FROM OLD.state;
  was_final CONSTANT boolean := TG_OP = 'UPDATE' AND OLD.state IN ('done', 'failed', 'canceled');
BEGIN
  IF current_user = 'lab_owner' OR pg_has_role(current_user, 'lab_controller', 'MEMBER') THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'queued' OR num_nonnulls(NEW.queue_no, NEW.message, NEW.attempt, NEW.started_at, NEW.window_start, NEW.window_end, NEW.finished_at) > 0 THEN
      RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
        MESSAGE = 'status columns of lab.runs are written by the lab',
        HINT = 'Leave out queue_no, state, message, attempt, started_at, window_start, window_end and finished_at.';
    END IF;
    RETURN NEW;
  END IF;

  IF moves AND (NEW.state IS NULL OR NEW.state NOT IN ('queued', 'canceled'))
     OR (NEW.queue_no, NEW.message, NEW.attempt, NEW.started_at, NEW.window_start, NEW.window_end, NEW.finished_at)
        IS DISTINCT FROM
        (OLD.queue_no, OLD.message, OLD.attempt, OLD.started_at, OLD.window_start, OLD.window_end, OLD.finished_at) THEN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
      MESSAGE = 'status columns of lab.runs are written by the lab',
      HINT = 'Set state to ''canceled'' to cancel a run, or to ''queued'' to try a finished one again.';
  END IF;
  IF moves AND NEW.state = 'canceled' AND was_final THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('run "%s" is %s already', OLD.run, OLD.state),
      HINT = 'There is nothing to cancel. Add AND state NOT IN (''done'', ''failed'') to the condition.';
  END IF;
  IF moves AND NEW.state = 'queued' AND NOT was_final THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('run "%s" is %s', OLD.run, OLD.state),
      HINT = format('Cancel it first: UPDATE lab.runs SET state = ''canceled'' WHERE run = %L.', OLD.run);
  END IF;
  IF (OLD.attempt > 0 OR OLD.state <> 'queued')
     AND (NEW.run, NEW.cluster, NEW.scale, NEW.clients, NEW.threads, NEW.seconds, NEW.warmup_seconds, NEW.protocol, NEW.builtin, NEW.script,
          NEW.rate, NEW.client_image, NEW.client_version, NEW.client_cpu, NEW.experiment, NEW.round, NEW.position)
         IS DISTINCT FROM
         (OLD.run, OLD.cluster, OLD.scale, OLD.clients, OLD.threads, OLD.seconds, OLD.warmup_seconds, OLD.protocol, OLD.builtin, OLD.script,
          OLD.rate, OLD.client_image, OLD.client_version, OLD.client_cpu, OLD.experiment, OLD.round, OLD.position) THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('the settings of run "%s" cannot be changed any more', OLD.run),
      DETAIL = 'It was launched or canceled before; its row says what was measured.',
      HINT = 'Insert another run.';
  END IF;
  IF NEW.state <> 'queued'
     AND (NEW.lane, NEW.queued_at, NEW.init, NEW.timeout_seconds) IS DISTINCT FROM (OLD.lane, OLD.queued_at, OLD.init, OLD.timeout_seconds) THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('run "%s" is %s', OLD.run, NEW.state),
      HINT = 'lane, queued_at, init and timeout_seconds can change while a run is queued.';
  END IF;

  IF moves AND NEW.state = 'canceled' THEN
    NEW.message := format('canceled by %s', current_user);
    NEW.finished_at := clock_timestamp();
  ELSIF moves THEN
    NEW.message := NULL;
    NEW.started_at := NULL;
    NEW.window_start := NULL;
    NEW.window_end := NULL;
    NEW.finished_at := NULL;
    IF NEW.queued_at = OLD.queued_at THEN
      NEW.queued_at := clock_timestamp();
    END IF;
  END IF;
  RETURN NEW;
END
$$;

-- What an attempt left on its host and in the lab is still to be removed. A
-- run that was never launched left nothing.
CREATE OR REPLACE FUNCTION lab_private.runs_bury() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.attempt > 0 THEN
    INSERT INTO lab_private.tombstones (kind, name, uid, spec, deleted_at)
    VALUES ('run', OLD.run, OLD.attempt::text, to_jsonb(OLD) - 'script', clock_timestamp());
  END IF;
  RETURN NULL;
END
$$;

-- Triggers of one kind fire in the order of their names: first who may (here),
-- then what (b_check, in runs_check.sql).
CREATE OR REPLACE TRIGGER a_guard BEFORE INSERT OR UPDATE ON lab.runs
  FOR EACH ROW EXECUTE FUNCTION lab_private.runs_guard();
CREATE OR REPLACE TRIGGER bury AFTER DELETE ON lab.runs
  FOR EACH ROW EXECUTE FUNCTION lab_private.runs_bury();

RESET ROLE;
