-- Attaches a lab to your own Postgres (14 to 18) with postgres_fdw:
--
--   psql -v host=127.0.0.1 -v port=5454 -v user=lab -v password=... -f sql/setup.sql
--
-- It makes server pglab, a user mapping for you, and schema lab with a
-- foreign table for each relation of the lab. Run it again after an update of
-- the lab, or with another address or password: it adds what is new and
-- leaves alone what you have built on the foreign tables. A password that is
-- not given is taken from the environment variable PGLAB_PASSWORD.

\set pglab_quiet :QUIET
\set QUIET on
\set ON_ERROR_STOP on
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- On the lab itself there is nothing to attach.
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'lab_private' AND c.relname = 'lane_holders') AS pglab_is_here \gset
\if :pglab_is_here
  \echo 'This is the lab itself: schema lab is here already. Try: SELECT * FROM lab.results;'
  \set QUIET :pglab_quiet
  \q
\endif

\if :{?host}
\else
  \set host 127.0.0.1
\endif
\if :{?port}
\else
  \set port 5454
\endif
\if :{?user}
\else
  \set user lab
\endif
\if :{?password}
\else
  \set password `printf %s "$PGLAB_PASSWORD"`
\endif
SELECT :'password' = '' AS pglab_no_password \gset
\if :pglab_no_password
  \echo 'The variable password is missing: the password of' :user 'in the lab at' :host 'port' :port
  \echo '(a new lab writes the one of lab into the file pgpass in its data directory).'
  DO $$ BEGIN
    RAISE EXCEPTION 'password is missing'
      USING HINT = 'psql -v host=127.0.0.1 -v port=5454 -v user=lab -v password=... -f sql/setup.sql, or set PGLAB_PASSWORD';
  END $$;
\endif

-- The user mapping's password is part of a statement: keep it out of the server's log.
SELECT rolsuper AS pglab_super FROM pg_roles WHERE rolname = current_user \gset
\if :pglab_super
  SET log_statement = 'none';
  SET log_min_duration_statement = -1;
  SET log_min_error_statement = 'panic';
\endif

BEGIN;

-- Somebody else's schema or server of that name is left alone.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = 'lab' AND obj_description(n.oid, 'pg_namespace') IS DISTINCT FROM 'pglab: foreign tables of the lab') THEN
    RAISE EXCEPTION 'a schema lab exists already, and setup.sql did not make it'
      USING HINT = 'Attach the lab in another database, or rename the schema: ALTER SCHEMA lab RENAME TO ...';
  END IF;
  IF EXISTS (SELECT FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE s.srvname = 'pglab' AND w.fdwname <> 'postgres_fdw') THEN
    RAISE EXCEPTION 'a foreign server pglab exists already, and it is not of postgres_fdw'
      USING HINT = 'Rename it: ALTER SERVER pglab RENAME TO ...';
  END IF;
END $$;

CREATE EXTENSION IF NOT EXISTS postgres_fdw;
CREATE SERVER IF NOT EXISTS pglab FOREIGN DATA WRAPPER postgres_fdw;

-- fetch_size: rows per round trip; samples come in tens of thousands.
SELECT format('ALTER SERVER pglab OPTIONS (%s)', string_agg(format('%s %I %L',
         CASE WHEN EXISTS (SELECT FROM pg_options_to_table(s.srvoptions) o WHERE o.option_name = want.name) THEN 'SET' ELSE 'ADD' END,
         want.name, want.value), ', '))
  FROM pg_foreign_server s,
       (VALUES ('host', :'host'), ('port', :'port'), ('dbname', 'lab'), ('fetch_size', '10000'), ('batch_size', '100')) AS want (name, value)
 WHERE s.srvname = 'pglab' \gexec

DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER pglab;
CREATE USER MAPPING FOR CURRENT_USER SERVER pglab OPTIONS (user :'user', password :'password');

-- What the lab has now, in a schema of its own for the time being.
CREATE SCHEMA pglab_incoming;
IMPORT FOREIGN SCHEMA lab FROM SERVER pglab INTO pglab_incoming;

CREATE SCHEMA IF NOT EXISTS lab;
COMMENT ON SCHEMA lab IS 'pglab: foreign tables of the lab';
CREATE TEMP TABLE pglab_report (relation text, what text, trouble text) ON COMMIT DROP;

-- New relations come over as they are; relations that the lab has no more go.
DO $$
DECLARE
  incoming record;
  bygone   record;
BEGIN
  FOR incoming IN
    SELECT c.relname AS name, (SELECT here.relkind FROM pg_class here WHERE here.oid = to_regclass(format('lab.%I', c.relname))) AS here
      FROM pg_class c WHERE c.relnamespace = 'pglab_incoming'::regnamespace AND c.relkind = 'f'
  LOOP
    IF incoming.here IS NULL THEN
      EXECUTE format('ALTER FOREIGN TABLE pglab_incoming.%I SET SCHEMA lab', incoming.name);
    END IF;
    INSERT INTO pglab_report VALUES (incoming.name,
      CASE WHEN incoming.here IS NULL THEN 'attached' WHEN incoming.here = 'f' THEN 'as before' END,
      CASE WHEN incoming.here <> 'f' THEN 'not attached, another relation has that name; rename it' END);
  END LOOP;
  FOR bygone IN
    SELECT c.relname AS name FROM pg_class c JOIN pg_foreign_table t ON t.ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = t.ftserver
     WHERE c.relnamespace = 'lab'::regnamespace AND s.srvname = 'pglab' AND NOT EXISTS (SELECT FROM pglab_report r WHERE r.relation = c.relname)
  LOOP
    BEGIN
      EXECUTE format('DROP FOREIGN TABLE lab.%I', bygone.name);
      INSERT INTO pglab_report VALUES (bygone.name, 'gone');
    EXCEPTION WHEN dependent_objects_still_exist THEN
      INSERT INTO pglab_report VALUES (bygone.name, NULL, 'gone from the lab; drop your views that use it');
    END;
  END LOOP;
END $$;

-- Columns that differ, by name. New ones go to the end; one that a view of the
-- user's holds on to stays as it is.
DO $$
DECLARE
  col record;
BEGIN
  FOR col IN
    WITH side AS (
      SELECT c.relnamespace = 'lab'::regnamespace AS here, c.relname AS relation, a.attname AS name, a.attnum, format_type(a.atttypid, a.atttypmod) AS type,
             CASE WHEN l.collname <> 'default' THEN format(' COLLATE pg_catalog.%I', l.collname) ELSE '' END AS collation
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_collation l ON l.oid = a.attcollation
       WHERE c.relnamespace IN ('lab'::regnamespace, 'pglab_incoming'::regnamespace) AND c.relkind = 'f' AND a.attnum > 0 AND NOT a.attisdropped)
    SELECT relation, name, there.type AS type, there.collation, here.type AS type_here
      FROM (SELECT * FROM side WHERE NOT here) there FULL JOIN (SELECT * FROM side WHERE here) here USING (relation, name)
     WHERE there.type IS DISTINCT FROM here.type AND relation IN (SELECT r.relation FROM pglab_report r WHERE r.what = 'as before')
     ORDER BY relation, there.attnum, here.attnum
  LOOP
    BEGIN
      EXECUTE format('ALTER FOREIGN TABLE lab.%I ', col.relation) || CASE
        WHEN col.type_here IS NULL THEN format('ADD COLUMN %I %s%s OPTIONS (column_name %L)', col.name, col.type, col.collation, col.name)
        WHEN col.type IS NULL THEN format('DROP COLUMN %I', col.name)
        ELSE format('ALTER COLUMN %I TYPE %s%s', col.name, col.type, col.collation) END;
      UPDATE pglab_report r SET what = 'updated' WHERE r.relation = col.relation;
    EXCEPTION WHEN dependent_objects_still_exist OR feature_not_supported THEN
      UPDATE pglab_report r SET trouble = concat_ws(', ', r.trouble, format('column %s is %s', col.name, coalesce('now ' || col.type, 'gone')))
       WHERE r.relation = col.relation;
    END;
  END LOOP;
  UPDATE pglab_report r SET trouble = r.trouble || '; drop your views that use them' WHERE r.trouble LIKE 'column %';
END $$;

-- Scripts and log lines are long: few rows per round trip, or they fill memory.
SELECT format('ALTER FOREIGN TABLE lab.%I OPTIONS (%s fetch_size ''10'')', c.relname,
         CASE WHEN EXISTS (SELECT FROM pg_options_to_table(t.ftoptions) o WHERE o.option_name = 'fetch_size') THEN 'SET' ELSE 'ADD' END)
  FROM pg_class c JOIN pg_foreign_table t ON t.ftrelid = c.oid
 WHERE c.relnamespace = 'lab'::regnamespace AND c.relname IN ('runs', 'logs') \gexec

DROP SCHEMA pglab_incoming CASCADE;

SELECT string_agg(line, E'\n' ORDER BY line) AS pglab_report
  FROM (SELECT '  ' || what || ': ' || string_agg(relation, ', ' ORDER BY relation) AS line FROM pglab_report WHERE trouble IS NULL GROUP BY what
        UNION ALL
        SELECT format('  lab.%s: %s and run setup.sql again', relation, trouble) FROM pglab_report WHERE trouble IS NOT NULL) report \gset
COMMIT;

\if :pglab_super
  RESET log_statement;
  RESET log_min_duration_statement;
  RESET log_min_error_statement;
\endif
RESET client_min_messages;
\echo 'The lab at' :host 'port' :port 'is schema lab of this database, as its user' :user
\echo :pglab_report
\echo 'Try: SELECT * FROM lab.runtimes;  then INSERT INTO lab.clusters (name, version) VALUES (''pg17'', ''17'');'
\echo 'Let other users in: CREATE USER MAPPING FOR someone SERVER pglab OPTIONS (user ''...'', password ''...'');'
\set ON_ERROR_STOP off
\set SHOW_CONTEXT errors
\set QUIET :pglab_quiet
