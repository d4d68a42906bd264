package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// EnsureServer implements lab.Runtime.
func (r *Runtime) EnsureServer(ctx context.Context, spec lab.ServerSpec, say func(string)) (lab.Server, error) {
	if err := r.checkSpec(spec); err != nil {
		return lab.Server{}, err
	}
	unlock, err := r.locks.lock(ctx, r.serverDir(spec.Ref()))
	if err != nil {
		return lab.Server{}, err
	}
	defer unlock()
	if r.isClosed() {
		return lab.Server{}, lab.Unavailable("pglab is stopping")
	}
	record, err := r.loadServer(spec.Ref())
	if errors.Is(err, lab.ErrNotFound) {
		record, err = r.createServer(ctx, spec)
	}
	if err != nil {
		return lab.Server{}, err
	}
	if err := r.ensureData(ctx, record, say); err != nil {
		return lab.Server{}, err
	}
	why, err := r.ensureRunning(ctx, &record, say)
	if err != nil {
		return lab.Server{}, err
	}
	server := r.describe(record)
	if why != "" {
		server.Message = "started again: " + why
	}
	if differs := drift(record.Spec, spec); differs != "" {
		server.Message = differs
	}
	return server, nil
}

// createServer checks all that can be checked, then makes the server's
// directory.
func (r *Runtime) createServer(ctx context.Context, spec lab.ServerSpec) (serverRecord, error) {
	chosen, err := r.choose(ctx, spec)
	if err != nil {
		return serverRecord{}, err
	}
	// A trial: whether the kernel takes the limits is known before initdb.
	trial, err := r.ground.makeGroup(ctx, groupName(spec), serverLimits(spec))
	if err == nil {
		err = trial.remove(ctx)
	}
	if err != nil {
		return serverRecord{}, err
	}
	if err := reachable(r.Dir, r.Account); err != nil {
		return serverRecord{}, err
	}
	sockets, err := r.socketDir(spec.UID)
	if err != nil {
		return serverRecord{}, err
	}
	record := serverRecord{Spec: spec, Bindir: chosen.Bindir, CreatedAt: time.Now(), SocketDir: sockets}
	err = create(r.serverDir(spec.Ref()), "server.json", record, durable, func(string) error { return nil })
	return record, err
}

// ensureData runs initdb unless there is a data directory, which is complete
// whenever it is there.
func (r *Runtime) ensureData(ctx context.Context, record serverRecord, say func(string)) error {
	datadir := r.dataDir(record)
	if _, err := os.Lstat(datadir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	with, err := r.programs(ctx, record)
	if err != nil {
		return err
	}
	say("running initdb of Postgres " + with.Version.String())
	err = postgres.Initdb(ctx, with, datadir, record.Spec.Initdb, r.Account)
	refused, ran := errors.AsType[*postgres.InitdbError](err)
	if ran && len(record.Spec.Initdb) > 0 && !postgres.HostTrouble(refused.Output) {
		return lab.InvalidSpec("initdb: %w", err)
	}
	return err
}

func (r *Runtime) programs(ctx context.Context, record serverRecord) (postgres.Installation, error) {
	with, err := postgres.Probe(ctx, record.Bindir, r.Account)
	if err != nil {
		return postgres.Installation{}, fmt.Errorf("the programs that server %s was made with: %w", record.Spec.Name, err)
	}
	return with, nil
}

func (r *Runtime) dataDir(record serverRecord) string {
	return filepath.Join(r.serverDir(record.Spec.Ref()), "data")
}

func groupName(spec lab.ServerSpec) string { return "server-" + spec.Name + "-" + spec.UID }

func (r *Runtime) logFile(record serverRecord) string {
	return filepath.Join(r.serverDir(record.Spec.Ref()), "log")
}

// ensureRunning starts the postmaster unless it runs, and returns when a
// connection succeeded. It tells why the last one ended, if that was not ours to say.
func (r *Runtime) ensureRunning(ctx context.Context, record *serverRecord, say func(string)) (why string, err error) {
	if running, ours := r.running(*record); !ours {
		if running.PID != 0 {
			say("stopping a postmaster that escaped its limits")
			if _, err := postgres.StopPostmaster(ctx, running); err != nil {
				return "", err
			}
		}
		if why = r.whyStopped(*record); why != "" {
			r.Log.Warn("starting a server again", "cluster", record.Spec.Name, "reason", why)
		}
		if err := r.start(ctx, record, say); err != nil {
			return "", err
		}
	} else if running != record.Postmaster {
		// Somebody restarted it from inside: still under its limits, still ours.
		record.Postmaster, record.StartedAt, record.Stopped = running, time.Now(), ""
		if err := r.saveServer(*record); err != nil {
			return "", err
		}
	}
	return why, r.awaitReady(ctx, record, say)
}

// running finds the postmaster of a server. It is ours when it is the recorded
// one, or another one within the group that the record has.
func (r *Runtime) running(record serverRecord) (running postgres.Identity, ours bool) {
	if record.Postmaster.Alive() {
		return record.Postmaster, true
	}
	running, err := postgres.Running(r.dataDir(record))
	if err != nil {
		return postgres.Identity{}, false
	}
	return running, !record.Group.exists() || record.Group.holds(running.PID)
}

// describe is a server as the outside sees it.
func (r *Runtime) describe(record serverRecord) lab.Server {
	server := lab.Server{
		Ref:       record.Spec.Ref(),
		Version:   record.Version,
		Endpoint:  "unix socket in " + record.SocketDir,
		StartedAt: record.StartedAt,
	}
	if !record.Postmaster.Alive() {
		server.Phase, server.Message = lab.ServerStopped, r.whyStopped(record)
		if server.Message == "" {
			server.Message = "it was not started"
		}
		return server
	}
	server.Usage = lab.UsageHandle{Source: lab.SourceProc, PID: record.Postmaster.PID}
	if record.Group.exists() {
		server.Usage.Source = r.ground.source()
	}
	server.Phase = lab.ServerStarting
	if record.Version != "" && record.Postmaster.Ready(r.dataDir(record)) {
		server.Phase = lab.ServerReady
	}
	return server
}

// InspectServer implements lab.Runtime.
func (r *Runtime) InspectServer(_ context.Context, ref lab.ServerRef) (lab.Server, error) {
	record, err := r.loadServer(ref)
	if err != nil {
		return lab.Server{}, err
	}
	return r.describe(record), nil
}
