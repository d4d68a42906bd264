-- lab.clusters: who may write what, defaults, and what a DELETE leaves to do.

SET LOCAL ROLE lab_owner;

-- Runs as the writer, so that current_user is whoever wrote.
CREATE OR REPLACE FUNCTION lab_private.clusters_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_user = 'lab_owner' OR pg_has_role(current_user, 'lab_controller', 'MEMBER') THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'pending' OR num_nonnulls(NEW.uid, NEW.created_at, NEW.state_since, NEW.message, NEW.server_version, NEW.endpoint) > 0 THEN
      RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
        MESSAGE = 'status columns of lab.clusters are written by the lab',
        HINT = 'Leave out uid, created_at, state, state_since, message, server_version and endpoint.';
    END IF;
    RETURN NEW;
  END IF;

  IF NEW.state IS DISTINCT FROM OLD.state AND NEW.state IS DISTINCT FROM 'pending'
     OR (NEW.uid, NEW.created_at, NEW.state_since, NEW.message, NEW.server_version, NEW.endpoint)
        IS DISTINCT FROM (OLD.uid, OLD.created_at, OLD.state_since, OLD.message, OLD.server_version, OLD.endpoint) THEN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
      MESSAGE = 'status columns of lab.clusters are written by the lab',
      HINT = 'Set state to ''pending'' to try a failed cluster again.';
  END IF;
  IF (NEW.name, NEW.runtime, NEW.version, NEW.image, NEW.bindir, NEW.cpu, NEW.memory, NEW.storage, NEW.cpuset, NEW.parameters, NEW.initdb)
     IS DISTINCT FROM
     (OLD.name, OLD.runtime, OLD.version, OLD.image, OLD.bindir, OLD.cpu, OLD.memory, OLD.storage, OLD.cpuset, OLD.parameters, OLD.initdb) THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use',
      MESSAGE = format('cluster "%s" cannot be changed', OLD.name),
      DETAIL = 'Its row says what was measured.',
      HINT = 'Delete it and insert it anew, or insert another cluster beside it.';
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state THEN
    IF OLD.state <> 'failed' THEN
      RAISE EXCEPTION USING ERRCODE = 'object_in_use',
        MESSAGE = format('cluster "%s" is %s', OLD.name, OLD.state),
        HINT = 'Only a failed cluster is tried again. To start over, delete it and insert it anew.';
    END IF;
    NEW.message := NULL;
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_cluster_name(value text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN value !~ '^[a-z]([-a-z0-9]*[a-z0-9])?$' OR length(value) > 40 THEN
      lab_private.refuse('42602', format('name "%s" is not a valid cluster name', left(value, 100)),
          'It becomes a database and host name: use lower-case letters, digits and hyphens, begin with a letter, end with a letter or digit, at most 40 characters.')
    WHEN value IN ('lab', 'postgres', 'template0', 'template1', 'bench') THEN
      lab_private.refuse('42939', format('name "%s" is reserved', value), 'Take another name; lab, postgres, template0, template1 and bench are the lab''s own.')
  END
$$;

-- postgres_fdw sends NULL for every column that is left out, hence defaults
-- by trigger. Runs as the owner: it reads what its users may not.
CREATE OR REPLACE FUNCTION lab_private.clusters_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong lab_private.refusal;
BEGIN
  NEW.runtime := coalesce(nullif(NEW.runtime, ''), 'process');
  NEW.runtime := CASE NEW.runtime WHEN 'metal' THEN 'systemd' WHEN 'k3s' THEN 'kubernetes' ELSE NEW.runtime END;
  NEW.version := nullif(NEW.version, '');
  NEW.image := nullif(NEW.image, '');
  NEW.bindir := nullif(NEW.bindir, '');
  NEW.cpu := nullif(NEW.cpu, '');
  NEW.memory := nullif(NEW.memory, '');
  NEW.storage := nullif(NEW.storage, '');
  NEW.cpuset := nullif(NEW.cpuset, '');
  NEW.parameters := lab_private.as_strings(coalesce(NEW.parameters, '{}'));
  NEW.initdb := lab_private.as_strings(coalesce(NEW.initdb, '{}'));

  wrong := coalesce(
    lab_private.missing('name', NEW.name, 'Every cluster has a name of its own, such as ''pg17''.'),
    lab_private.bad_cluster_name(NEW.name),
    lab_private.unknown_word('runtime', NEW.runtime, ARRAY['process', 'systemd', 'docker', 'kubernetes']),
    lab_private.bad_version('version', NEW.version, 10),
    lab_private.bad_image('image', NEW.image),
    lab_private.bad_directory('bindir', NEW.bindir),
    lab_private.bad_cpu('cpu', NEW.cpu),
    lab_private.bad_size('memory', NEW.memory),
    lab_private.bad_size('storage', NEW.storage),
    lab_private.bad_cpuset('cpuset', NEW.cpuset),
    lab_private.bad_parameters(NEW.parameters),
    lab_private.bad_initdb(NEW.initdb));
  IF wrong.code IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = wrong.code, MESSAGE = wrong.message, HINT = wrong.hint;
  END IF;
  IF NEW.initdb ->> 'data_checksums' IN ('true', 'false') THEN
    NEW.initdb := NEW.initdb || jsonb_build_object('data_checksums', CASE NEW.initdb ->> 'data_checksums' WHEN 'true' THEN 'on' ELSE 'off' END);
  END IF;

  NEW.uid := coalesce(NEW.uid, gen_random_uuid());
  NEW.created_at := coalesce(NEW.created_at, clock_timestamp());
  NEW.state := coalesce(NEW.state, 'pending');
  IF EXISTS (SELECT FROM lab_private.tombstones t WHERE t.kind = 'cluster' AND t.name = NEW.name) THEN
    NEW.message := format('waiting for the previous %s to be removed', NEW.name);
  END IF;
  RETURN NEW;
END
$$;

-- Runs wait for a cluster from this time on.
CREATE OR REPLACE FUNCTION lab_private.clusters_since() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.state IS DISTINCT FROM OLD.state THEN
    NEW.state_since := clock_timestamp();
  END IF;
  RETURN NEW;
END
$$;

-- A deleted cluster's server is still to be removed; its runs under way end.
CREATE OR REPLACE FUNCTION lab_private.clusters_bury() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO lab_private.tombstones (kind, name, uid, spec, deleted_at)
  VALUES ('cluster', OLD.name, OLD.uid::text, to_jsonb(OLD), clock_timestamp());
  UPDATE lab.runs r
     SET state = 'canceled', finished_at = clock_timestamp(), message = format('cluster "%s" was deleted', OLD.name)
   WHERE r.cluster = OLD.name AND r.state IN ('launched', 'preparing', 'warming', 'running');
  RETURN NULL;
END
$$;

-- Triggers of one kind fire in the order of their names: first who may, then what.
CREATE OR REPLACE TRIGGER a_guard BEFORE INSERT OR UPDATE ON lab.clusters
  FOR EACH ROW EXECUTE FUNCTION lab_private.clusters_guard();
CREATE OR REPLACE TRIGGER b_check BEFORE INSERT ON lab.clusters
  FOR EACH ROW EXECUTE FUNCTION lab_private.clusters_check();
CREATE OR REPLACE TRIGGER c_since BEFORE INSERT OR UPDATE OF state ON lab.clusters
  FOR EACH ROW EXECUTE FUNCTION lab_private.clusters_since();
CREATE OR REPLACE TRIGGER bury AFTER DELETE ON lab.clusters
  FOR EACH ROW EXECUTE FUNCTION lab_private.clusters_bury();

RESET ROLE;
