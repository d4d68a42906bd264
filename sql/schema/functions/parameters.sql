-- The two json objects of a cluster: server parameters and choices of initdb.

SET LOCAL ROLE lab_owner;

-- Numbers and booleans become the strings that they look like, so that
-- {"work_mem": "8MB", "max_connections": 50} is an object of one kind of thing.
CREATE OR REPLACE FUNCTION lab_private.as_strings(object jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN jsonb_typeof(object) = 'object' THEN
    (SELECT coalesce(jsonb_object_agg(e.key, CASE WHEN jsonb_typeof(e.value) IN ('number', 'boolean') THEN to_jsonb(e.value #>> '{}') ELSE e.value END), '{}')
       FROM jsonb_each(object) e)
  ELSE object END
$$;

CREATE OR REPLACE FUNCTION lab_private.not_strings(col text, object jsonb) RETURNS lab_private.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
  odd record;
BEGIN
  IF jsonb_typeof(object) <> 'object' THEN
    RETURN lab_private.refuse('22023', format('%s must be a json object, not %s', col, jsonb_typeof(object)),
            'Write it like ''{"shared_buffers": "256MB", "max_connections": 50}''.');
  END IF;
  SELECT e.key, jsonb_typeof(e.value) AS kind INTO odd FROM jsonb_each(object) e
   WHERE jsonb_typeof(e.value) <> 'string' OR e.value #>> '{}' ~ '[[:cntrl:]]' LIMIT 1;
  IF FOUND THEN
    RETURN lab_private.refuse('22023', format('%s: the value of "%s" is %s', col, left(odd.key, 100),
                            CASE odd.kind WHEN 'string' THEN 'more than one line' WHEN 'null' THEN 'null' ELSE 'an ' || odd.kind END),
            'Each value is a string on one line, a number or a boolean.');
  END IF;
  RETURN NULL;
END
$$;

-- Where a server listens, and which files and programs it touches, is the runtime's to say.
CREATE OR REPLACE FUNCTION lab_private.bad_parameters(object jsonb) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    lab_private.not_strings('parameters', object),
    (SELECT lab_private.refuse('22023', format('parameters: "%s" is not the name of a server parameter', left(k, 100)),
                'SELECT name FROM pg_settings lists those of a server.')
       FROM jsonb_object_keys(object) k
      WHERE k !~ '^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$' OR length(k) > 63 LIMIT 1),
    (SELECT lab_private.refuse('22023', format('parameters: "%s" is set by the lab', k),
                'Leave it out. Addresses, directories, files, commands and the server''s log belong to the runtime.')
       FROM jsonb_object_keys(object) k
      WHERE lower(k) ~ '(_directory|_directories|file|_command)$'
         OR lower(k) ~ '^(include|include_if_exists|include_dir|unix_socket_.*)$'
         OR lower(k) IN ('port', 'listen_addresses', 'cluster_name', 'logging_collector', 'log_destination', 'log_filename') LIMIT 1))
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_initdb(object jsonb) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  WITH known (key, form) AS (VALUES
    ('data_checksums', '^(on|off|true|false)$'),
    ('wal_segment_size', '^(1|2|4|8|16|32|64|128|256|512|1024)$'),
    ('encoding', '^[A-Za-z0-9_-]{1,40}$'),
    ('locale', '^[A-Za-z0-9_.@=-]{1,80}$'),
    ('locale_provider', '^(libc|icu|builtin)$'))
  SELECT coalesce(
    lab_private.not_strings('initdb', object),
    (SELECT lab_private.refuse('22023',
                CASE WHEN k.key IS NULL THEN format('initdb: "%s" is not known', left(e.key, 100))
                     ELSE format('initdb: %s cannot be "%s"', e.key, left(e.value, 100)) END,
                'Known are data_checksums (on, off), wal_segment_size (megabytes, a power of two up to 1024), encoding, locale and locale_provider (libc, icu, builtin).')
       FROM jsonb_each_text(CASE WHEN jsonb_typeof(object) = 'object' THEN object END) e LEFT JOIN known k ON k.key = e.key
      WHERE k.key IS NULL OR e.value !~ k.form LIMIT 1))
$$;

RESET ROLE;
