-- Checks of single values. Each returns NULL for a value that can be (or is
-- NULL), otherwise the refusal: the column, the value, what to write instead.

SET LOCAL ROLE lab_owner;

CREATE OR REPLACE FUNCTION lab_private.refuse(code text, message text, hint text) RETURNS lab_private.refusal
LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(code, message, hint)::lab_private.refusal
$$;

CREATE OR REPLACE FUNCTION lab_private.missing(col text, value text, hint text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('23502', format('%s is missing', col), hint) WHERE value IS NULL
$$;

CREATE OR REPLACE FUNCTION lab_private.out_of_range(col text, value float8, low float8, high float8, hint text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('22023', format('%s must be between %s and %s, not %s', col, low, high, value), hint)
   WHERE value NOT BETWEEN low AND high
$$;

CREATE OR REPLACE FUNCTION lab_private.unknown_word(col text, value text, words text[]) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('22023', format('%s "%s" is not known', col, left(value, 100)), format('Write one of: %s.', array_to_string(words, ', ')))
   WHERE value <> ALL (words)
$$;

-- Names of runs, lanes and experiments become names of files, containers and units.
CREATE OR REPLACE FUNCTION lab_private.bad_name(col text, value text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('42602', format('%s "%s" is not a valid name', col, left(value, 100)),
             'Use letters, digits, dots, underscores and hyphens, begin with a letter or digit, at most 63 characters.')
   WHERE value !~ '^[A-Za-z0-9][A-Za-z0-9._-]*$' OR length(value) > 63
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_image(col text, value text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('22023', format('%s "%s" is not the name of an image', col, left(value, 100)),
             'Write it as docker pull takes it, such as ''postgres:17'' or ''registry.example/postgres@sha256:...''.')
   WHERE value !~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]*$' OR length(value) > 255
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_version(col text, value text, oldest integer) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN value !~ '^[1-9][0-9](\.[0-9]{1,3})?$' THEN
      lab_private.refuse('22023', format('%s "%s" is not a version of Postgres', col, left(value, 100)),
          'Write a major version such as ''17'', or one release such as ''17.10''.')
    WHEN split_part(value, '.', 1)::integer < oldest THEN
      lab_private.refuse('22023', format('%s "%s" is too old', col, value), format('Write %s or newer.', oldest))
  END
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_directory(col text, value text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('22023', format('%s "%s" is not an absolute directory', col, left(value, 100)),
             'Write where postgres and initdb lie, such as ''/usr/local/pgsql/bin'', without ''..''.')
   WHERE value !~ '^/' OR value ~ '(^|/)\.\.(/|$)' OR value ~ '[[:cntrl:]]' OR length(value) > 1000
$$;

RESET ROLE;
