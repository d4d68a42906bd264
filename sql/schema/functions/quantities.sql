-- Quantities of CPU, memory and storage as people write them. The grammar is
-- the one of lab.ParseCPU and lab.ParseBytes; a test holds the two together.

SET LOCAL ROLE lab_owner;

CREATE OR REPLACE FUNCTION lab_private.bad_cpu(col text, value text) RETURNS lab_private.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
  parts CONSTANT text[] := regexp_match(value, '^([0-9]{1,20}(?:\.[0-9]{1,20})?)[ \t\n\f\r]*(m?)$');
BEGIN
  IF value IS NOT NULL AND parts IS NULL THEN
    RETURN lab_private.refuse('22023', format('%s "%s" is not a number of CPUs', col, left(value, 100)),
            'Write it like ''2'', ''0.5'' or ''500m'' (thousandths of a CPU).');
  ELSIF round(parts[1]::numeric * CASE parts[2] WHEN 'm' THEN 1 ELSE 1000 END) NOT BETWEEN 10 AND 1000000 THEN
    RETURN lab_private.refuse('22023', format('%s "%s" is outside 10m to 1000 CPUs', col, value), 'Leave it out for no limit.');
  END IF;
  RETURN NULL;
END
$$;

-- Ki is binary and k decimal, as Kubernetes writes them; kB is binary, as
-- Postgres writes it. A lone m is a thousandth to Kubernetes and a million to nobody.
CREATE OR REPLACE FUNCTION lab_private.bad_size(col text, value text) RETURNS lab_private.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
  parts CONSTANT text[] := regexp_match(value, '^([0-9]{1,20}(?:\.[0-9]{1,20})?)[ \t\n\f\r]*([A-Za-z]*)$');
  unit  CONSTANT numeric := CASE
    WHEN parts[2] = 'm' THEN NULL
    ELSE CASE lower(parts[2])
      WHEN '' THEN 1 WHEN 'b' THEN 1
      WHEN 'k' THEN 1e3 WHEN 'm' THEN 1e6 WHEN 'g' THEN 1e9 WHEN 't' THEN 1e12
      WHEN 'ki' THEN 2^10 WHEN 'mi' THEN 2^20 WHEN 'gi' THEN 2^30 WHEN 'ti' THEN 2^40
      WHEN 'kb' THEN 2^10 WHEN 'mb' THEN 2^20 WHEN 'gb' THEN 2^30 WHEN 'tb' THEN 2^40 END END;
  forms CONSTANT text := 'Write it like ''512Mi'', ''2Gi'', ''512MB'' or ''1GB''.';
BEGIN
  IF value IS NOT NULL AND (parts IS NULL OR unit IS NULL OR parts[1]::numeric * unit > 2::numeric ^ 62) THEN
    RETURN lab_private.refuse('22023', format('%s "%s" is not a size', col, left(value, 100)), forms);
  ELSIF parts[1]::numeric * unit < 2^20 THEN
    RETURN lab_private.refuse('22023', format('%s "%s" is less than 1 MiB', col, value), forms);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION lab_private.bad_cpuset(col text, value text) RETURNS lab_private.refusal
LANGUAGE sql STABLE AS $$
  SELECT lab_private.refuse('22023', format('%s "%s" is not a list of CPUs', col, left(value, 100)),
             'Number CPUs from 0 and write them like ''0-3'' or ''0-1,4''.')
   WHERE value !~ '^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$'
      OR EXISTS (SELECT FROM regexp_matches(value, '([0-9]{1,4})-([0-9]{1,4})', 'g') AS span (ends) WHERE span.ends[1]::integer > span.ends[2]::integer)
$$;

RESET ROLE;
