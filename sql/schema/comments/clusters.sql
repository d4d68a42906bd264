SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.clusters IS 'Servers under test, one per row. INSERT makes one, DELETE removes it with its data. Connect to the database of that name to be on it. What was asked for cannot be changed: delete and insert.';
COMMENT ON COLUMN lab.clusters.name IS 'Name of the cluster and of the database to connect to: a DNS label of at most 40 characters, beginning with a letter.';
COMMENT ON COLUMN lab.clusters.runtime IS 'Where it runs: process, systemd (alias metal), docker or kubernetes (alias k3s). Default process. lab.runtimes shows what works here.';
COMMENT ON COLUMN lab.clusters.version IS 'Version of Postgres: a major such as 17 or a release such as 17.10. NULL: the newest found.';
COMMENT ON COLUMN lab.clusters.image IS 'Container image, for docker and kubernetes. NULL: the lab''s own choice for the version.';
COMMENT ON COLUMN lab.clusters.bindir IS 'Directory of a build of one''s own (postgres, initdb), for process and systemd. NULL: an installation of the version.';
COMMENT ON COLUMN lab.clusters.cpu IS 'CPU limit: 2, 0.5 or 500m. NULL: no limit.';
COMMENT ON COLUMN lab.clusters.memory IS 'Memory limit: 512Mi, 2Gi, 512MB. NULL: no limit.';
COMMENT ON COLUMN lab.clusters.storage IS 'Size of the data directory''s volume: 10Gi. NULL: no limit.';
COMMENT ON COLUMN lab.clusters.cpuset IS 'CPUs that the server may run on: 0-1 or 0,2. NULL: every CPU.';
COMMENT ON COLUMN lab.clusters.parameters IS 'Server parameters: a json object of strings; numbers and booleans are taken as strings. Default {}. Addresses, directories, files and commands are the lab''s.';
COMMENT ON COLUMN lab.clusters.initdb IS 'Choices of initdb: a json object with any of data_checksums (on, off), wal_segment_size (megabytes), encoding, locale, locale_provider. Default {}: the same for every major.';
COMMENT ON COLUMN lab.clusters.uid IS 'Identity of this row. A later row of the same name has another one.';
COMMENT ON COLUMN lab.clusters.created_at IS 'When the row was inserted.';
COMMENT ON COLUMN lab.clusters.state IS 'pending, creating, ready or failed. Set it to pending to try a failed cluster again.';
COMMENT ON COLUMN lab.clusters.state_since IS 'When it came into that state.';
COMMENT ON COLUMN lab.clusters.message IS 'What is going on, or why it failed and what to do; NULL when there is nothing to say.';
COMMENT ON COLUMN lab.clusters.server_version IS 'Version that the server reports; NULL until it is ready.';
COMMENT ON COLUMN lab.clusters.endpoint IS 'Where the server listens, in words; NULL until it is ready.';

RESET ROLE;
