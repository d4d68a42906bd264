-- lab.roles: logins of the lab, made and dropped by lab_rolekeeper.

SET LOCAL ROLE lab_owner;

CREATE OR REPLACE FUNCTION lab_private.bad_login(role text, kind text, password text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN role !~ '^[a-z_][a-z0-9_-]{0,62}$' OR role ~ '^(pg_|lab_)' OR role IN ('postgres', 'public', 'none') THEN
      lab_private.refuse('42602', format('role "%s" is not a valid name of a login', left(role, 100)),
          'Use lower-case letters, digits, underscores and hyphens, begin with a letter, at most 63 characters; not pg_..., lab_..., postgres, public or none.')
    WHEN kind NOT IN ('viewer', 'operator', 'admin') THEN
      lab_private.refuse('22023', format('kind "%s" is not known', left(kind, 100)),
          'Write one of: viewer (reads), operator (queues and launches runs), admin (makes clusters, lanes and logins).')
    WHEN length(password) NOT BETWEEN 8 AND 200 THEN
      lab_private.refuse('28P01', 'the password is shorter than 8 or longer than 200 characters',
          'Leave it out, and RETURNING password shows a random one, once.')
  END
$$;
GRANT EXECUTE ON FUNCTION lab_private.refuse(text, text, text), lab_private.missing(text, text, text), lab_private.bad_login(text, text, text) TO lab_rolekeeper;

RESET ROLE;

-- Runs as lab_rolekeeper, which may do more than this function lets anybody ask for.
CREATE OR REPLACE FUNCTION lab_private.roles_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong lab_private.refusal;
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.role = session_user THEN
      RAISE EXCEPTION USING ERRCODE = 'object_in_use',
        MESSAGE = format('role "%s" is yours', OLD.role), HINT = 'Another admin can delete it.';
    END IF;
    EXECUTE format('DROP ROLE %I', OLD.role);
    RETURN OLD;
  END IF;

  IF TG_OP = 'INSERT' THEN
    NEW.kind := coalesce(NEW.kind, 'viewer');
    NEW.password := coalesce(NEW.password, replace(gen_random_uuid()::text, '-', ''));
  END IF;
  wrong := coalesce(
    lab_private.missing('role', NEW.role, 'Give the login a name.'),
    lab_private.missing('kind', NEW.kind, 'Write viewer, operator or admin.'),
    lab_private.bad_login(NEW.role, NEW.kind, NEW.password),
    CASE WHEN NEW.role <> OLD.role THEN
      lab_private.refuse('55006', format('role "%s" cannot be renamed', OLD.role), 'Insert another role and delete this one.') END,
    CASE WHEN NEW.kind <> OLD.kind AND OLD.role = session_user THEN
      lab_private.refuse('55006', format('role "%s" is yours', OLD.role), 'Another admin can change its kind.') END,
    CASE WHEN TG_OP = 'INSERT' AND EXISTS (SELECT FROM pg_roles r WHERE r.rolname = NEW.role) THEN
      lab_private.refuse('42710', format('role "%s" already exists', NEW.role),
        'Take another name, or UPDATE lab.roles to change its password, kind or valid_until.') END);
  IF wrong.code IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = wrong.code, MESSAGE = wrong.message, HINT = wrong.hint;
  END IF;

  -- In pieces: an error shows the statement that failed, and only the last holds the password.
  IF TG_OP = 'INSERT' THEN
    EXECUTE format('CREATE ROLE %I LOGIN', NEW.role);
  END IF;
  IF NEW.kind <> OLD.kind THEN
    EXECUTE format('REVOKE %I FROM %I', 'lab_' || OLD.kind, NEW.role);
  END IF;
  IF NEW.kind IS DISTINCT FROM OLD.kind THEN
    EXECUTE format('GRANT %I TO %I', 'lab_' || NEW.kind, NEW.role);
  END IF;
  EXECUTE format('ALTER ROLE %I VALID UNTIL %L', NEW.role, coalesce(NEW.valid_until, 'infinity'));
  IF NEW.password IS NOT NULL THEN
    EXECUTE format('ALTER ROLE %I PASSWORD %L', NEW.role, NEW.password);
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION lab_private.roles_change() OWNER TO lab_rolekeeper;
REVOKE ALL ON FUNCTION lab_private.roles_change() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lab_private.roles_change() TO lab_owner;
