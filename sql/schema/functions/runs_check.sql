-- lab.runs: defaults and checks of a run's settings.

SET LOCAL ROLE lab_owner;

-- pgbench takes a meta command anywhere in a line, with blanks and line
-- continuations between the backslash and the word.
CREATE OR REPLACE FUNCTION lab_private.bad_script(script text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN octet_length(script) > 1024 * 1024 THEN
      lab_private.refuse('22023', format('script has %s bytes, more than 1 MiB', octet_length(script)),
          'Shorten it: pgbench repeats the whole script for each transaction.')
    WHEN script !~ '[^[:space:];]' THEN
      lab_private.refuse('22023', 'script has no command', 'Write the text of a pgbench script, or leave it out for a builtin one.')
    WHEN script ~* '\\[[:space:]\\]*(set)?shell' THEN
      lab_private.refuse('22023', 'script uses \shell or \setshell',
          'A script runs no programs on the lab''s host. Use \set with pgbench''s own functions and operators.')
  END
$$;

CREATE OR REPLACE FUNCTION lab_private.unknown_cluster(cluster text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('23503', format('cluster "%s" does not exist', left(unknown_cluster.cluster, 100)),
             coalesce('There are: ' || (SELECT string_agg(c.name, ', ' ORDER BY c.name) FROM (SELECT k.name FROM lab.clusters k ORDER BY k.name LIMIT 20) c) || '.',
                      'There is none yet: INSERT INTO lab.clusters (name, version) VALUES (''pg17'', ''17'').'))
   WHERE NOT EXISTS (SELECT FROM lab.clusters c WHERE c.name = unknown_cluster.cluster)
$$;

CREATE OR REPLACE FUNCTION lab_private.unknown_lane(lane text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('23503', format('lane "%s" does not exist', left(unknown_lane.lane, 100)),
             format('There are: %s. An admin adds one: INSERT INTO lab.lanes (lane) VALUES (...).',
                    (SELECT string_agg(l.lane, ', ' ORDER BY l.lane) FROM (SELECT k.lane FROM lab.lanes k ORDER BY k.lane LIMIT 20) l)))
   WHERE NOT EXISTS (SELECT FROM lab.lanes l WHERE l.lane = unknown_lane.lane)
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_run(r lab.runs) RETURNS lab_private.refusal
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(
    lab_private.bad_name('run', r.run),
    lab_private.out_of_range('scale', r.scale, 1, 100000, 'Left out, it is 10.'),
    lab_private.out_of_range('clients', r.clients, 1, 10000, 'Left out, it is 8.'),
    lab_private.out_of_range('threads', r.threads, 1, r.clients, 'Left out, it is 1; more threads than clients have nothing to do.'),
    lab_private.out_of_range('seconds', r.seconds, 1, 604800, 'Left out, it is 60; the longest is a week.'),
    lab_private.out_of_range('warmup_seconds', r.warmup_seconds, 0, 86400, 'Left out, it is 0: no warm-up.'),
    lab_private.out_of_range('timeout_seconds', r.timeout_seconds, r.seconds + r.warmup_seconds + 1, 2592000,
      'It covers preparing, warm-up and the timed part. Left out, it is seconds + warmup_seconds + 600.'),
    lab_private.unknown_word('protocol', r.protocol, ARRAY['simple', 'extended', 'prepared']),
    lab_private.unknown_word('init', r.init, ARRAY['auto', 'always', 'never']),
    CASE WHEN r.builtin IS NOT NULL AND r.script IS NOT NULL THEN
      lab_private.refuse('22023', 'builtin and script are both given', 'Give one of them; neither means builtin ''tpcb-like''.') END,
    lab_private.unknown_word('builtin', r.builtin, ARRAY['tpcb-like', 'simple-update', 'select-only']),
    lab_private.bad_script(r.script),
    lab_private.out_of_range('rate', r.rate, 0.001, 1e9, 'Transactions a second, all clients together. Left out: as fast as possible.'),
    lab_private.bad_image('client_image', r.client_image),
    lab_private.bad_version('client_version', r.client_version, 14),
    lab_private.bad_cpu('client_cpu', r.client_cpu),
    lab_private.bad_name('experiment', r.experiment),
    lab_private.out_of_range('round', r.round, 0, 1000000, 'Rounds are numbered from 0.'),
    lab_private.out_of_range('position', r.position, 0, 1000000, 'Positions within a round are numbered from 0.'));
END
$$;

-- postgres_fdw sends NULL for every column that is left out, hence defaults
-- by trigger. Runs as the owner: it reads what its users may not.
CREATE OR REPLACE FUNCTION lab_private.runs_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong lab_private.refusal;
BEGIN
  NEW.lane := coalesce(nullif(NEW.lane, ''), 'default');
  NEW.queue_no := coalesce(NEW.queue_no, nextval('lab_private.queue_numbers'::regclass));
  IF nullif(NEW.run, '') IS NULL THEN
    NEW.run := NEW.cluster || '-' || NEW.queue_no;
    WHILE EXISTS (SELECT FROM lab.runs r WHERE r.run = NEW.run) LOOP
      NEW.queue_no := nextval('lab_private.queue_numbers'::regclass);
      NEW.run := NEW.cluster || '-' || NEW.queue_no;
    END LOOP;
  END IF;

  NEW.scale := coalesce(NEW.scale, 10);
  NEW.clients := coalesce(NEW.clients, 8);
  NEW.threads := coalesce(NEW.threads, 1);
  NEW.seconds := coalesce(NEW.seconds, 60);
  NEW.warmup_seconds := coalesce(NEW.warmup_seconds, 0);
  NEW.timeout_seconds := coalesce(NEW.timeout_seconds, least(NEW.seconds::bigint + NEW.warmup_seconds + 600, 2592000));
  NEW.protocol := coalesce(NEW.protocol, 'simple');
  NEW.init := coalesce(NEW.init, 'auto');
  NEW.script := nullif(NEW.script, '');
  NEW.builtin := nullif(NEW.builtin, '');
  -- An UPDATE that names one of the two means it instead of the other.
  IF TG_OP = 'UPDATE' AND NEW.script IS DISTINCT FROM OLD.script AND NEW.builtin = OLD.builtin THEN
    NEW.builtin := NULL;
  ELSIF TG_OP = 'UPDATE' AND NEW.builtin IS DISTINCT FROM OLD.builtin AND NEW.script = OLD.script THEN
    NEW.script := NULL;
  END IF;
  IF NEW.script IS NULL THEN
    NEW.builtin := coalesce(NEW.builtin, 'tpcb-like');
  END IF;
  NEW.client_image := nullif(NEW.client_image, '');
  NEW.client_version := nullif(NEW.client_version, '');
  NEW.client_cpu := nullif(NEW.client_cpu, '');
  NEW.experiment := nullif(NEW.experiment, '');
  wrong := coalesce(
    lab_private.missing('cluster', NEW.cluster, 'Name the cluster that the run is to measure: SELECT name FROM lab.clusters.'),
    CASE WHEN NEW.cluster IS DISTINCT FROM OLD.cluster THEN lab_private.unknown_cluster(NEW.cluster) END,
    CASE WHEN NEW.lane IS DISTINCT FROM OLD.lane THEN lab_private.unknown_lane(NEW.lane) END,
    lab_private.bad_run(NEW));
  IF wrong.code IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = wrong.code, MESSAGE = wrong.message, HINT = wrong.hint;
  END IF;

  NEW.queued_at := coalesce(NEW.queued_at, clock_timestamp());
  NEW.state := coalesce(NEW.state, 'queued');
  NEW.attempt := coalesce(NEW.attempt, 0);
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER b_check BEFORE INSERT OR UPDATE OF
    run, cluster, lane, scale, clients, threads, seconds, warmup_seconds, timeout_seconds, protocol, init, builtin, script,
    rate, client_image, client_version, client_cpu, experiment, round, position, queued_at
  ON lab.runs FOR EACH ROW EXECUTE FUNCTION lab_private.runs_check();

RESET ROLE;
