-- Roles of the lab. They belong to the whole server, not to the database, so
-- this file comes first and may run any number of times.
--
--   lab_viewer < lab_operator < lab_admin   what logins are members of
--   lab_owner                               owns every object
--   lab_controller                          writes states and measurements
--   lab_gateway                             reads verifiers, through one function
--   lab_rolekeeper                          makes and drops logins, through lab.roles

DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['lab_viewer', 'lab_operator', 'lab_admin', 'lab_owner', 'lab_controller', 'lab_gateway', 'lab_rolekeeper'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
  END LOOP;
END
$$;

GRANT lab_viewer TO lab_operator;
GRANT lab_operator TO lab_admin;

-- CREATEROLE stays out of reach of every login: before Postgres 16 it is
-- nearly a superuser. ADMIN OPTION is what 16 and later ask for besides.
ALTER ROLE lab_rolekeeper CREATEROLE;
GRANT lab_viewer, lab_operator, lab_admin TO lab_rolekeeper WITH ADMIN OPTION;
