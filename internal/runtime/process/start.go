package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/task"
)

// startTimeout bounds how long a server may take until it accepts
// connections; recovery after a crash takes a while.
const startTimeout = 10 * time.Minute

// start starts the postmaster in a group of its own. It is on record before
// it does anything.
func (r *Runtime) start(ctx context.Context, record *serverRecord, say func(string)) error {
	with, err := r.programs(ctx, *record)
	if err != nil {
		return err
	}
	if err := r.clearAway(ctx, record); err != nil {
		return err
	}
	if err := r.writeConf(r.serverDir(record.Spec.Ref()), record.Spec); err != nil {
		return err
	}
	if err := r.makeSocketDir(record.SocketDir); err != nil {
		return err
	}
	if record.Group, err = r.ground.makeGroup(ctx, groupName(record.Spec), serverLimits(record.Spec)); err != nil {
		return err
	}
	say("starting Postgres " + with.Version.String())
	launch := task.Launch{
		Groups: record.Group.distinct(),
		Gate:   true,
		Argv: postgres.PostmasterArgv(with, r.dataDir(*record), record.SocketDir,
			map[string]string{"config_file": r.serverDir(record.Spec.Ref()) + "/server.conf"}),
	}
	if r.Account != nil {
		launch.UID, launch.GID = r.Account.UID, r.Account.GID
	}
	child, err := postgres.Start(postgres.Command{
		Argv: launch.EnterArgv(r.Exe), Env: postgres.PostmasterEnv(), Log: r.logFile(*record), Gate: true,
	})
	if err != nil {
		return fmt.Errorf("starting server: %w", err)
	}
	record.Postmaster, record.StartedAt, record.Stopped, record.Version = child.Identity, time.Now(), "", ""
	if err := r.saveServer(*record); err != nil {
		child.Refuse()
		return err
	}
	r.watchChild(record.Spec.Ref(), child)
	return child.Open()
}

// clearAway ends what a dead postmaster left: backends notice its death only
// by and by, and the next one refuses to start beside them.
func (r *Runtime) clearAway(ctx context.Context, record *serverRecord) error {
	if err := r.killServer(ctx, *record); err != nil {
		return err
	}
	if err := r.ground.removeGroup(ctx, record.Group); err != nil {
		return err
	}
	record.LogStart = 0
	info, err := os.Stat(r.logFile(*record))
	switch {
	case err == nil:
		record.LogStart = info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking at server log: %w", err)
	}
	return nil
}

// awaitReady waits for a postmaster until a connection to it succeeds, and
// makes what every server under test has.
func (r *Runtime) awaitReady(ctx context.Context, record *serverRecord, say func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		lab.Unavailable("the server did not accept connections within %v", startTimeout))
	defer cancel()
	err := record.Postmaster.WaitReady(ctx, r.dataDir(*record))
	switch {
	case errors.Is(err, postgres.ErrNotRunning):
		return r.explainFailedStart(record)
	case err != nil:
		return context.Cause(ctx)
	}
	if record.Version == "" {
		say("making role " + lab.BenchUser + " and database " + record.Spec.Name)
	}
	version, err := r.prepare(ctx, *record)
	if err != nil {
		if !record.Postmaster.Alive() {
			return r.explainFailedStart(record)
		}
		return err
	}
	shared := record.Postmaster.SharedControl()
	if record.Version == version && record.Shared == shared {
		return nil
	}
	record.Version, record.Shared, record.Prepared = version, shared, true
	return r.saveServer(*record)
}

// fatalExit is the exit status of a postmaster that gave up with a FATAL.
const fatalExit = 1

// explainFailedStart says why a postmaster ended before it was ready: in
// the server's own words when it has any.
func (r *Runtime) explainFailedStart(record *serverRecord) error {
	exit, known := r.exit(record.Postmaster)
	record.Stopped = r.whyStopped(*record)
	if err := r.saveServer(*record); err != nil {
		return err
	}
	switch {
	case record.Group.oomKilled():
		return lab.InvalidSpec("the server does not fit into its memory limit of %d MiB: %s", record.Spec.Memory>>20, record.Stopped)
	case known && exit.Code == fatalExit && !record.Prepared && len(record.Spec.Parameters) > 0 && !postgres.HostTrouble(record.Stopped):
		// It has never run, and parameters are all that sets it apart from a server that does.
		return lab.InvalidSpec("the server refuses its parameters: %s", record.Stopped)
	}
	return fmt.Errorf("the server did not start: %s", record.Stopped)
}
