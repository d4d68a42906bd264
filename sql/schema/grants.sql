-- Who may do what with schemas and tables. Views and functions are granted
-- where they are made.

SET LOCAL ROLE lab_owner;

GRANT USAGE ON SCHEMA lab TO lab_viewer, lab_controller, lab_gateway;
GRANT USAGE ON SCHEMA lab_private TO lab_controller, lab_gateway, lab_rolekeeper;

GRANT SELECT ON lab.clusters, lab.lanes, lab.runs, lab.usage, lab.progress, lab.logs, lab.runtimes TO lab_viewer;
GRANT INSERT, UPDATE, DELETE ON lab.runs TO lab_operator;
GRANT INSERT, UPDATE, DELETE ON lab.clusters, lab.lanes TO lab_admin;

GRANT SELECT, INSERT, UPDATE, DELETE ON lab.clusters, lab.lanes, lab.runs, lab.usage, lab.progress, lab.logs, lab.runtimes TO lab_controller;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lab_private TO lab_controller;
GRANT SELECT ON lab.clusters TO lab_gateway;

RESET ROLE;

-- Settings of the database are for a database of the lab's own.
DO $$
BEGIN
  IF current_database() = 'lab' THEN
    ALTER DATABASE lab SET search_path = lab, public;
    -- An open transaction that launched a run keeps its lane from everybody else.
    ALTER DATABASE lab SET idle_in_transaction_session_timeout = '10min';
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  END IF;
END
$$;
