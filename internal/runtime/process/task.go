package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/task"
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

// startTask makes the task's directory and group, starts the shim, which is
// on record before it does anything, and waits until pgbench runs.
func (r *Runtime) startTask(ctx context.Context, spec lab.TaskSpec, server serverRecord) (lab.Task, error) {
	client, err := r.installation(ctx, func(all postgres.Installations) (postgres.Installation, error) { return all.Client(spec.Version) })
	if err != nil {
		return lab.Task{}, err
	}
	record := taskRecord{Ref: spec.Ref, Client: client.Version.String(), CreatedAt: time.Now()}
	dir := r.taskDir(spec.Ref)
	if err := create(dir, "task.json", record, passing, func(dir string) error { return r.fillTask(dir, spec.Files) }); err != nil {
		return lab.Task{}, err
	}
	if record.Group, err = r.ground.makeGroup(ctx, "task-"+taskName(spec.Ref), limits{cpu: spec.CPU}); err != nil {
		return lab.Task{}, err
	}
	child, err := postgres.Start(postgres.Command{
		Argv: r.job(spec, record, client).TaskArgv(r.Exe),
		Env:  taskEnv(server),
		Log:  filepath.Join(dir, "shim.log"),
		Gate: true,
	})
	if err != nil {
		return lab.Task{}, fmt.Errorf("starting task: %w", err)
	}
	record.Shim = child.Identity
	if err := r.saveTask(record); err != nil {
		child.Refuse()
		return lab.Task{}, err
	}
	if err := child.Open(); err != nil {
		return lab.Task{}, err
	}
	return r.awaitStart(ctx, record, child)
}

// fillTask makes what a task has besides its record. Files are written before
// the account owns their directory: nothing can be put in their place.
func (r *Runtime) fillTask(dir string, files map[string]string) error {
	work, state := filepath.Join(dir, "work"), filepath.Join(dir, "state")
	for _, sub := range []string{work, state} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		if err := r.give(path); err != nil {
			return err
		}
	}
	return errors.Join(r.give(work), r.give(state))
}

func (r *Runtime) job(spec lab.TaskSpec, record taskRecord, client postgres.Installation) task.Job {
	dir := r.taskDir(spec.Ref)
	job := task.Job{
		Launch: task.Launch{
			Groups: record.Group.distinct(),
			Gate:   true,
			Argv:   append([]string{client.Program("pgbench")}, spec.Args...),
		},
		Dir:    filepath.Join(dir, "work"),
		Stdout: filepath.Join(dir, lab.Stdout),
		Stderr: filepath.Join(dir, lab.Stderr),
		Status: r.statusFile(spec.Ref),
	}
	if r.Account != nil {
		job.UID, job.GID = r.Account.UID, r.Account.GID
	}
	return job
}

func (r *Runtime) statusFile(ref lab.TaskRef) string {
	return filepath.Join(r.taskDir(ref), "state", "status.json")
}

// taskEnv tells pgbench where the server is, and the shim to be small.
func taskEnv(server serverRecord) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GOMAXPROCS=1",
		"PGHOST=" + server.SocketDir,
		"PGPORT=" + strconv.Itoa(postgres.Port),
		"PGUSER=" + lab.BenchUser,
		"PGDATABASE=" + server.Spec.Name,
	}
}

// awaitStart waits until the shim says that pgbench runs, or why it does not.
func (r *Runtime) awaitStart(ctx context.Context, record taskRecord, shim *postgres.Child) (lab.Task, error) {
	const interval = 2 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		_, ended := shim.Exit() // before the status is read: it is final then
		status, err := task.ReadStatus(r.statusFile(record.Ref))
		switch {
		case err == nil && status.Error != "":
			return lab.Task{}, fmt.Errorf("starting task: %s", status.Error)
		case err == nil:
			return r.describeTask(record), nil
		case ended:
			return lab.Task{}, fmt.Errorf("starting task: %s", r.shimComplaint(record.Ref))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return lab.Task{}, ctx.Err()
		}
	}
}

// shimComplaint is what a shim that gave up said.
func (r *Runtime) shimComplaint(ref lab.TaskRef) string {
	text, err := os.ReadFile(filepath.Join(r.taskDir(ref), "shim.log"))
	if said := strings.TrimSpace(string(text)); err == nil && said != "" {
		return said
	}
	return "the shim ended without a word"
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
	return record.Group.remove(ctx)
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
