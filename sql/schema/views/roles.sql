-- Logins of the lab.

SET LOCAL ROLE lab_owner;

DROP VIEW IF EXISTS lab.roles;
CREATE VIEW lab.roles AS
SELECT r.rolname::text COLLATE "C" AS role, k.kind, nullif(r.rolvaliduntil, 'infinity') AS valid_until, NULL::text AS password
  FROM pg_catalog.pg_roles r, lab_private.login_kind(r.oid) AS k (kind)
 WHERE k.kind IS NOT NULL;

CREATE TRIGGER change INSTEAD OF INSERT OR UPDATE OR DELETE ON lab.roles
  FOR EACH ROW EXECUTE FUNCTION lab_private.roles_change();
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.roles TO lab_admin;

COMMENT ON VIEW lab.roles IS 'Command: logins of the lab. INSERT makes one and RETURNING password shows its password once; UPDATE changes password, kind or valid_until; DELETE drops it. For admins. Sessions that are open keep what they had until they end.';
COMMENT ON COLUMN lab.roles.role IS 'Name to log in with: lower-case letters, digits, underscores and hyphens.';
COMMENT ON COLUMN lab.roles.kind IS 'viewer (reads), operator (also queues, launches and cancels runs) or admin (also makes clusters, lanes and logins). Default viewer.';
COMMENT ON COLUMN lab.roles.valid_until IS 'When the password stops to work; NULL: never.';
COMMENT ON COLUMN lab.roles.password IS 'Given or, when left out, random; shown by the RETURNING of the INSERT that made the login, otherwise NULL.';

RESET ROLE;
