-- How a run comes to hold its lane: the only way from queued to launched.
--
-- Many sessions call it at once, directly and through postgres_fdw, where it
-- runs under REPEATABLE READ. It never waits and turns what another session
-- is doing into a note: psql's \watch stops at the first error. What holds in
-- the end is the primary key of lane_holders.

SET LOCAL ROLE lab_owner;

-- Why nothing can start in the lane just now; NULL when something can.
CREATE OR REPLACE FUNCTION lab_private.lane_note(lane text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN h.run IS NOT NULL AND r.run IS NULL THEN h.run || ' is being stopped'
    WHEN h.run IS NOT NULL THEN h.run || ' is ' || r.state || CASE WHEN left_s > 0 THEN ', ' || left_s || ' s left' WHEN left_s <= 0 THEN ', finishing' ELSE '' END
    WHEN cool_s > 0 THEN 'cooling down, ' || cool_s || ' s left' END
  FROM lab.lanes l
  LEFT JOIN lab_private.lane_holders h ON h.lane = l.lane
  LEFT JOIN lab_private.lane_releases f ON f.lane = l.lane
  -- The holder's row, unless its user has canceled, retried or deleted it.
  LEFT JOIN lab.runs r ON r.run = h.run AND r.attempt = h.attempt AND r.state IN ('launched', 'preparing', 'warming', 'running')
  CROSS JOIN LATERAL (SELECT
    ceil(extract(epoch FROM r.window_start + make_interval(secs => r.seconds) - clock_timestamp()))::integer AS left_s,
    ceil(extract(epoch FROM f.released_at + make_interval(secs => l.cooldown_seconds) - clock_timestamp()))::integer AS cool_s) s
  WHERE l.lane = lane_note.lane
$$;
GRANT EXECUTE ON FUNCTION lab_private.lane_note(text) TO lab_viewer, lab_controller;

-- Why a queued run cannot start: fatal when it never will. NULL when it can.
CREATE OR REPLACE FUNCTION lab_private.obstacle(r lab.runs, OUT reason text, OUT fatal boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  c     lab.clusters;
  since timestamptz;
BEGIN
  SELECT * INTO c FROM lab.clusters t WHERE t.name = r.cluster;
  IF NOT FOUND THEN
    fatal := true;
    reason := format('cluster "%s" does not exist any more; insert it again, then UPDATE lab.runs SET state = ''queued'' WHERE run = %L', r.cluster, r.run);
  ELSIF c.state = 'failed' THEN
    fatal := true;
    reason := format('cluster "%s" failed: %s; once it is ready, UPDATE lab.runs SET state = ''queued'' WHERE run = %L', c.name, coalesce(c.message, 'no reason was given'), r.run);
  ELSIF c.state <> 'ready' THEN
    -- It has waited for nothing but this cluster no longer than since the latest of these.
    SELECT greatest(r.queued_at, c.state_since, f.released_at) INTO since
      FROM lab.lanes l LEFT JOIN lab_private.lane_releases f USING (lane) WHERE l.lane = r.lane;
    fatal := clock_timestamp() > since + make_interval(secs => r.timeout_seconds);
    reason := format('cluster "%s" is %s%s', c.name, c.state, ', ' || c.message);
    IF fatal THEN
      reason := format('timed out after %s s: %s; once it is ready, UPDATE lab.runs SET state = ''queued'' WHERE run = %L', r.timeout_seconds, reason, r.run);
    END IF;
  ELSIF EXISTS (SELECT FROM lab_private.tombstones t WHERE t.kind = 'run' AND t.name = r.run) THEN
    fatal := false;
    reason := 'the deleted run of that name is still being removed';
  ELSIF EXISTS (SELECT FROM lab_private.lane_holders h WHERE h.run = r.run) THEN
    fatal := false;
    reason := 'its previous attempt, in another lane, is still being stopped';
  END IF;
END
$$;

-- Starts the first queued run of the lane, or says in note why not. Runs
-- whose cluster is gone or has failed fail on the way, so that the queue
-- moves on. Called by lab.launches and by the controller for autolaunch lanes.
CREATE OR REPLACE FUNCTION lab_private.launch(lane text, OUT run text, OUT note text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  candidate record;
  head      lab.runs;
  stop      record;
  failed    integer := 0;
  queued    bigint;
  wrong     CONSTANT lab_private.refusal := lab_private.unknown_lane(launch.lane);
BEGIN
  IF wrong.code IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = wrong.code, MESSAGE = wrong.message, HINT = wrong.hint;
  END IF;
  note := lab_private.lane_note(launch.lane);
  IF note IS NOT NULL THEN
    RETURN;
  END IF;

  PERFORM FROM lab.lanes l WHERE l.lane = launch.lane FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    note := 'another session is starting a run in this lane';
    RETURN;
  END IF;
  -- Now that the lane is ours: what came in between?
  note := lab_private.lane_note(launch.lane);
  IF note IS NOT NULL THEN
    RETURN;
  END IF;

  FOR candidate IN SELECT r.run, r.queued_at FROM lab.runs r WHERE r.lane = launch.lane AND r.state = 'queued' ORDER BY r.queued_at, r.queue_no LOOP
    -- NOWAIT, not SKIP LOCKED: who is first stays first.
    SELECT * INTO head FROM lab.runs r
     WHERE r.run = candidate.run AND r.lane = launch.lane AND r.state = 'queued' AND r.queued_at = candidate.queued_at FOR UPDATE NOWAIT;
    IF NOT FOUND THEN
      note := 'another session changed the queue just now; look again';
      RETURN;
    END IF;
    SELECT * INTO stop FROM lab_private.obstacle(head);
    IF stop.reason IS NULL THEN
      PERFORM lab_private.start(head);
      run := head.run;
      EXIT;
    ELSIF NOT stop.fatal THEN
      note := format('%s waits: %s', head.run, stop.reason);
      RETURN;
    END IF;
    UPDATE lab.runs r SET state = 'failed', message = stop.reason, finished_at = clock_timestamp() WHERE r.run = head.run;
    failed := failed + 1;
  END LOOP;

  SELECT count(*) INTO queued FROM lab.runs r WHERE r.lane = launch.lane AND r.state = 'queued';
  note := concat_ws('; ',
    CASE WHEN run IS NOT NULL THEN format('started %s, %s more queued', run, queued) ELSE 'queue is empty' END,
    CASE WHEN failed > 0 THEN format('%s could not start and failed: see message in lab.runs', CASE failed WHEN 1 THEN '1 run' ELSE failed || ' runs' END) END);
EXCEPTION WHEN serialization_failure OR unique_violation OR lock_not_available THEN
  run := NULL;
  note := 'another session changed the queue just now; look again';
END
$$;
GRANT EXECUTE ON FUNCTION lab_private.launch(text) TO lab_controller;

-- Gives the lane to the run's next attempt.
CREATE OR REPLACE FUNCTION lab_private.start(r lab.runs) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  now_at CONSTANT timestamptz := clock_timestamp();
BEGIN
  INSERT INTO lab_private.lane_holders (lane, run, attempt, cluster, since)
  VALUES (r.lane, r.run, r.attempt + 1, r.cluster, now_at);
  -- A session whose snapshot is older than this launch cannot lock this row
  -- any more: it would not see the holder, nor the lane's release.
  UPDATE lab.lanes l SET lane = l.lane WHERE l.lane = r.lane;
  UPDATE lab.runs t SET state = 'launched', attempt = r.attempt + 1, started_at = now_at,
         message = NULL, window_start = NULL, window_end = NULL, finished_at = NULL
   WHERE t.run = r.run;
  INSERT INTO lab_private.attempts (run, attempt, cluster, cluster_uid, runtime, server_version, cpu_limit, memory_limit, parameters, launched_at)
  SELECT r.run, r.attempt + 1, c.name, c.uid, c.runtime, c.server_version, c.cpu, c.memory, c.parameters, now_at
    FROM lab.clusters c WHERE c.name = r.cluster;
END
$$;

CREATE OR REPLACE FUNCTION lab_private.launches_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.run IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = 'a launch takes the first queued run of its lane, not one by name',
      HINT = format('To put it first: UPDATE lab.runs SET queued_at = ''-infinity'' WHERE run = %L.', NEW.run);
  END IF;
  NEW.lane := coalesce(nullif(NEW.lane, ''), 'default');
  SELECT l.run, l.note INTO NEW.run, NEW.note FROM lab_private.launch(NEW.lane) l;
  RETURN NEW;
END
$$;

RESET ROLE;
