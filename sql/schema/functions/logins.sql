-- Who may log in, and with what verifier.

SET LOCAL ROLE lab_owner;

-- viewer, operator or admin for an unprivileged login of the lab; NULL for every other role.
CREATE OR REPLACE FUNCTION lab_private.login_kind(role oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN pg_has_role(r.oid, 'lab_admin', 'MEMBER') THEN 'admin'
              WHEN pg_has_role(r.oid, 'lab_operator', 'MEMBER') THEN 'operator'
              ELSE 'viewer' END
    FROM pg_roles r
   WHERE r.oid = login_kind.role AND r.rolcanlogin
     AND NOT (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls)
     AND pg_has_role(r.oid, 'lab_viewer', 'MEMBER')
     AND NOT pg_has_role(r.oid, 'lab_owner', 'MEMBER')
     AND NOT pg_has_role(r.oid, 'lab_controller', 'MEMBER')
     AND NOT pg_has_role(r.oid, 'lab_rolekeeper', 'MEMBER')
$$;
GRANT EXECUTE ON FUNCTION lab_private.login_kind(oid) TO lab_admin, lab_rolekeeper, lab_controller;

RESET ROLE;

-- Owned by the superuser that applies this file: nobody else reads verifiers.
-- The argument is text: a name longer than 63 bytes is not cut to another's.
CREATE OR REPLACE FUNCTION lab_private.login(role text, OUT rolname text, OUT verifier text, OUT valid_until timestamptz, OUT connection_limit integer, OUT kind text)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.rolname::text, a.rolpassword, a.rolvaliduntil, a.rolconnlimit, k.kind
    FROM pg_authid a, lab_private.login_kind(a.oid) AS k (kind)
   WHERE a.rolname::text = login.role AND k.kind IS NOT NULL
$$;
REVOKE ALL ON FUNCTION lab_private.login(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lab_private.login(text) TO lab_gateway;
