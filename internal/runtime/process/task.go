package process

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"pglab/internal/lab"
)

// StartTask implements lab.Runtime.
func (r *Runtime) StartTask(ctx context.Context, spec lab.TaskSpec) (lab.Task, error) {
	server, err := r.checkTask(spec)
	if err != nil {
		return lab.Task{}, err
	}
	unlock, err := r.locks.lock(ctx, r.taskDir(spec.Ref))
	if err != nil {
		return lab.Task{}, err
	}
	defer unlock()
	if r.isClosed() {
		return lab.Task{}, lab.Unavailable("pglab is stopping")
	}
	record, err := r.loadTask(spec.Ref)
	switch {
	case err == nil && record.Shim.PID != 0:
		return r.describeTask(record), nil
	case err == nil: // made, and never started
		if err := r.removeTask(ctx, spec.Ref); err != nil {
			return lab.Task{}, err
		}
	case !errors.Is(err, lab.ErrNotFound):
		return lab.Task{}, err
	}
	started, err := r.startTask(ctx, spec, server)
	if err != nil && ctx.Err() == nil { // with ctx ended, it is the next one's to go on with
		if removeErr := r.removeTask(context.WithoutCancel(ctx), spec.Ref); removeErr != nil {
			r.Log.Warn("task that did not start not removed", "run", spec.Ref.Run, "err", removeErr)
		}
	}
	return started, err
}

func (r *Runtime) checkTask(spec lab.TaskSpec) (server serverRecord, err error) {
	if err := checkTaskRef(spec.Ref); err != nil {
		return server, err
	}
	switch {
	case spec.Lab != r.Lab:
		return server, lab.InvalidSpec("run %s belongs to lab %s, this is lab %s", spec.Ref.Run, spec.Lab, r.Lab)
	case spec.Image != "":
		return server, lab.Unsupported("runtime process runs programs of this host, not images; leave client_image NULL")
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Files)) {
		if err := checkName("file name", name); err != nil {
			return server, err
		}
	}
	for _, arg := range spec.Args {
		if strings.ContainsRune(arg, 0) {
			return server, lab.InvalidSpec("an argument of pgbench has a zero byte: %q", arg)
		}
	}
	server, err = r.loadServer(spec.Server)
	if err == nil && !server.Postmaster.Alive() {
		err = lab.Unavailable("server %s does not run", spec.Server.Name)
	}
	return server, err
}

// StopTask implements lab.Runtime.
func (r *Runtime) StopTask(ctx context.Context, ref lab.TaskRef) error {
	if err := checkTaskRef(ref); err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, r.taskDir(ref))
	if err != nil {
		return err
	}
	defer unlock()
	return r.stopTask(ctx, ref)
}

// shimPatience is a little more than the shim's own with pgbench.
const shimPatience = 4 * time.Second

// stopTask asks the shim, then ends whatever is left in the task's group.
func (r *Runtime) stopTask(ctx context.Context, ref lab.TaskRef) error {
	record, err := r.loadTask(ref)
	if errors.Is(err, lab.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := record.Shim.Signal(syscall.SIGTERM); err == nil {
		patient, cancel := context.WithTimeout(ctx, shimPatience)
		_ = record.Shim.Wait(patient) // what it does not do is done below
		cancel()
	}
	ctx = context.WithoutCancel(ctx)
	if !record.Group.exists() {
		return killEvery(ctx, inSession(record.Shim))
	}
	if !record.OOMKilled && record.Group.oomKilled() {
		record.OOMKilled = true // the group knows it no longer when it is gone
		if err := r.saveTask(record); err != nil {
			return err
		}
	}
	return r.ground.removeGroup(ctx, record.Group)
}

// RemoveTask implements lab.Runtime.
func (r *Runtime) RemoveTask(ctx context.Context, ref lab.TaskRef) error {
	if err := checkTaskRef(ref); err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, r.taskDir(ref))
	if err != nil {
		return err
	}
	defer unlock()
	return r.removeTask(ctx, ref)
}

func (r *Runtime) removeTask(ctx context.Context, ref lab.TaskRef) error {
	if err := r.stopTask(ctx, ref); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return removeDir(r.taskDir(ref))
}
