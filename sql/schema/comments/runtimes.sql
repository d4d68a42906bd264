SET LOCAL ROLE lab_owner;

COMMENT ON TABLE lab.runtimes IS 'What works on this host, and why not. Written by the lab.';
COMMENT ON COLUMN lab.runtimes.runtime IS 'process, systemd, docker or kubernetes.';
COMMENT ON COLUMN lab.runtimes.state IS 'undetected (not here), unhealthy (here, but does not work) or healthy.';
COMMENT ON COLUMN lab.runtimes.message IS 'A sentence: what was found, or what is missing.';
COMMENT ON COLUMN lab.runtimes.capabilities IS 'What it can do: limits that it enforces, where usage comes from, versions that it found.';
COMMENT ON COLUMN lab.runtimes.probed_at IS 'When it was last looked at.';

RESET ROLE;
