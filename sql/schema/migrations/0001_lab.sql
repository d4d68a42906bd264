-- Tables of schema lab and of its private side.
--
-- What a foreign table can carry decides the shapes here: built-in types
-- only, CHECK instead of enum or domain, no column DEFAULT (triggers turn
-- NULL into the default, because postgres_fdw sends NULL for every omitted
-- column), text keys in the "C" collation. No foreign key leads to lab.runs:
-- a controller's insert would wait for a user's open DELETE.

CREATE SCHEMA lab AUTHORIZATION lab_owner;
CREATE SCHEMA lab_private AUTHORIZATION lab_owner;
-- No function of the lab is for everybody.
ALTER DEFAULT PRIVILEGES FOR ROLE lab_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
SET LOCAL ROLE lab_owner;

-- One row: who this lab is. Objects on hosts carry the id.
CREATE TABLE lab_private.lab (
    id         text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX one_lab ON lab_private.lab ((true));
INSERT INTO lab_private.lab (id, created_at)
VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12), clock_timestamp());

-- Which files of the schema were applied, each as it was then.
CREATE TABLE lab_private.schema_files (
    name       text COLLATE "C" PRIMARY KEY,
    sha256     text NOT NULL,
    applied_at timestamptz NOT NULL
);

-- Why a value cannot be, and what to write instead. Checks return one, or
-- NULL; a trigger raises it, so that the user reads one line of CONTEXT.
CREATE TYPE lab_private.refusal AS (code text, message text, hint text);

-- The triggers of functions/ refuse bad values in words. The CHECKs below are
-- the second line: they hold against the lab's own writers, too.

CREATE TABLE lab.clusters (
    name           text COLLATE "C" PRIMARY KEY CONSTRAINT name_is_a_dns_label
                   CHECK (name ~ '^[a-z]([-a-z0-9]*[a-z0-9])?$' AND length(name) <= 40),
    runtime        text COLLATE "C" NOT NULL CONSTRAINT runtime_is_known
                   CHECK (runtime IN ('docker', 'kubernetes', 'systemd', 'process')),
    version        text,
    image          text,
    bindir         text,
    cpu            text,
    memory         text,
    storage        text,
    cpuset         text,
    parameters     jsonb NOT NULL CONSTRAINT parameters_are_an_object CHECK (jsonb_typeof(parameters) = 'object'),
    initdb         jsonb NOT NULL CONSTRAINT initdb_is_an_object CHECK (jsonb_typeof(initdb) = 'object'),
    uid            uuid NOT NULL UNIQUE,
    created_at     timestamptz NOT NULL,
    state          text NOT NULL CONSTRAINT state_is_known
                   CHECK (state IN ('pending', 'creating', 'ready', 'failed')),
    state_since    timestamptz NOT NULL,
    message        text,
    server_version text,
    endpoint       text
);

CREATE TABLE lab.lanes (
    lane             text COLLATE "C" PRIMARY KEY,
    autolaunch       boolean NOT NULL,
    cooldown_seconds float8 NOT NULL CONSTRAINT cooldown_is_not_negative CHECK (cooldown_seconds >= 0)
);
INSERT INTO lab.lanes (lane, autolaunch, cooldown_seconds) VALUES ('default', false, 0);

CREATE SEQUENCE lab_private.queue_numbers;

CREATE TABLE lab.runs (
    run             text COLLATE "C" PRIMARY KEY CONSTRAINT run_is_a_plain_name
                    CHECK (run ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$' AND length(run) <= 63),
    cluster         text COLLATE "C" NOT NULL,
    lane            text COLLATE "C" NOT NULL,
    scale           integer NOT NULL CONSTRAINT scale_is_positive CHECK (scale >= 1),
    clients         integer NOT NULL CONSTRAINT clients_is_positive CHECK (clients >= 1),
    threads         integer NOT NULL,
    seconds         integer NOT NULL CONSTRAINT seconds_is_positive CHECK (seconds >= 1),
    warmup_seconds  integer NOT NULL CONSTRAINT warmup_is_not_negative CHECK (warmup_seconds >= 0),
    protocol        text NOT NULL CONSTRAINT protocol_is_known CHECK (protocol IN ('simple', 'extended', 'prepared')),
    builtin         text,          -- NULL when script is given
    script          text,
    rate            float8 CONSTRAINT rate_is_positive CHECK (rate > 0), -- NULL: as fast as possible
    init            text NOT NULL CONSTRAINT init_is_known CHECK (init IN ('auto', 'always', 'never')),
    client_image    text,
    client_version  text,
    client_cpu      text,
    timeout_seconds integer NOT NULL,
    experiment      text COLLATE "C",
    round           integer,
    position        integer,
    queued_at       timestamptz NOT NULL,
    queue_no        bigint NOT NULL,
    state           text NOT NULL CONSTRAINT state_is_known
                    CHECK (state IN ('queued', 'launched', 'preparing', 'warming', 'running', 'done', 'failed', 'canceled')),
    message         text,
    attempt         integer NOT NULL, -- 0 until the first launch
    started_at      timestamptz,
    window_start    timestamptz,
    window_end      timestamptz,
    finished_at     timestamptz,
    CONSTRAINT threads_fit_clients CHECK (threads BETWEEN 1 AND clients),
    CONSTRAINT timeout_fits_run CHECK (timeout_seconds > seconds + warmup_seconds),
    CONSTRAINT one_of_builtin_and_script CHECK (num_nonnulls(builtin, script) = 1)
);
CREATE INDEX runs_queue ON lab.runs (lane, queued_at, queue_no) WHERE state = 'queued';

-- A lane belongs to one attempt from launch until its task is really gone,
-- whatever happens to the run's row: that is why runs never overlap.
CREATE TABLE lab_private.lane_holders (
    lane    text COLLATE "C" PRIMARY KEY,
    run     text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    cluster text COLLATE "C" NOT NULL,
    since   timestamptz NOT NULL
);
-- When the lane was last let go; cooldown counts from here.
CREATE TABLE lab_private.lane_releases (
    lane        text COLLATE "C" PRIMARY KEY,
    released_at timestamptz NOT NULL
);

-- Deleted rows whose objects are still to be removed.
CREATE TABLE lab_private.tombstones (
    kind       text COLLATE "C" NOT NULL CHECK (kind IN ('cluster', 'run')),
    name       text COLLATE "C" NOT NULL,
    uid        text COLLATE "C" NOT NULL, -- a cluster's uid; of a run its last attempt
    spec       jsonb NOT NULL,            -- the deleted row
    deleted_at timestamptz NOT NULL,
    message    text,
    PRIMARY KEY (kind, name, uid)
);

-- What pgbench -i made on a cluster. A row exists only for a data set that
-- was made completely.
CREATE TABLE lab_private.datasets (
    cluster_uid    uuid PRIMARY KEY,
    scale          integer NOT NULL,
    client_version text NOT NULL,
    made_at        timestamptz NOT NULL
);

-- One row per attempt: facts about the cluster copied at launch (results
-- outlive clusters) and what was measured. NULL: not measured.
CREATE TABLE lab_private.attempts (
    run                        text COLLATE "C" NOT NULL,
    attempt                    integer NOT NULL,
    cluster                    text COLLATE "C" NOT NULL,
    cluster_uid                uuid,
    runtime                    text,
    server_version             text,
    cpu_limit                  text,
    memory_limit               text,
    parameters                 jsonb,
    launched_at                timestamptz NOT NULL,
    task_started_at            timestamptz,  -- of the timed pgbench process
    client_version             text,
    transaction_type           text,
    data_scale                 integer,
    transactions               bigint,
    failed                     bigint,
    retried                    bigint,
    skipped                    bigint,
    tps                        float8,
    latency_ms                 float8,
    latency_stddev_ms          float8,
    schedule_lag_ms            float8,
    schedule_lag_max_ms        float8,
    connect_ms                 float8,
    window_start               timestamptz,
    window_end                 timestamptz,
    window_s                   float8,
    usage_source               text,
    samples                    integer,
    edge_gap_ms                float8,
    pg_cpu_seconds             float8,
    pg_cpu_user_seconds        float8,
    pg_cpu_system_seconds      float8,
    pg_cpu_avg                 float8,
    pg_cpu_peak                float8,
    pg_periods                 bigint,
    pg_throttled_periods       bigint,
    pg_throttled_ms            float8,
    pg_memory_peak_bytes       bigint,
    pg_anon_peak_bytes         bigint,
    pg_file_peak_bytes         bigint,
    pg_shmem_peak_bytes        bigint,
    pg_read_bytes              bigint,
    pg_write_bytes             bigint,
    pg_cpu_pressure_pct        float8,
    pg_io_pressure_pct         float8,
    pg_memory_pressure_pct     float8,
    pg_oom_kills               bigint,
    pgbench_cpu_seconds        float8,
    pgbench_cpu_avg            float8,
    pgbench_cpu_peak           float8,
    pgbench_periods            bigint,
    pgbench_throttled_periods  bigint,
    pgbench_throttled_ms       float8,
    pgbench_memory_peak_bytes  bigint,
    warnings                   text[],
    PRIMARY KEY (run, attempt)
);

CREATE TABLE lab.usage (
    run                 text COLLATE "C" NOT NULL,
    attempt             integer NOT NULL,
    cluster             text COLLATE "C" NOT NULL,
    role                text COLLATE "C" NOT NULL CONSTRAINT role_is_known CHECK (role IN ('postgres', 'pgbench')),
    sampled_at          timestamptz NOT NULL,
    window_s            float8 NOT NULL,
    cpu_cores           float8,
    memory_bytes        bigint,
    anon_bytes          bigint,
    file_bytes          bigint,
    shmem_bytes         bigint,
    read_bytes          bigint,
    write_bytes         bigint,
    throttled_ms        float8,
    cpu_pressure_pct    float8,
    io_pressure_pct     float8,
    memory_pressure_pct float8
);
CREATE INDEX usage_by_run ON lab.usage (run, attempt, sampled_at);

CREATE TABLE lab.progress (
    run        text COLLATE "C" NOT NULL,
    attempt    integer NOT NULL,
    at         timestamptz NOT NULL,
    tps        float8 NOT NULL,
    latency_ms float8,
    stddev_ms  float8,
    failed     bigint
);
CREATE INDEX progress_by_run ON lab.progress (run, attempt, at);

CREATE TABLE lab.logs (
    object  text COLLATE "C" NOT NULL, -- 'cluster NAME' or 'run NAME'
    source  text COLLATE "C" NOT NULL, -- postgres, init, warmup, bench
    stream  text COLLATE "C" NOT NULL, -- stdout, stderr
    attempt integer,                   -- of a run
    uid     text COLLATE "C",          -- of a cluster
    line    bigint NOT NULL,           -- from 1, within object, source, stream and attempt or uid
    at      timestamptz NOT NULL,      -- when the lab read it
    text    text NOT NULL
);
CREATE INDEX logs_by_object ON lab.logs (object, attempt, source, stream, line);

-- How far a server's log was copied into lab.logs.
CREATE TABLE lab_private.log_positions (
    cluster_uid uuid PRIMARY KEY,
    bytes       bigint NOT NULL, -- read so far
    lines       bigint NOT NULL  -- written so far
);

CREATE TABLE lab.runtimes (
    runtime      text COLLATE "C" PRIMARY KEY,
    state        text NOT NULL CONSTRAINT state_is_known CHECK (state IN ('undetected', 'unhealthy', 'healthy')),
    message      text,
    capabilities jsonb NOT NULL,
    probed_at    timestamptz NOT NULL
);

RESET ROLE;
