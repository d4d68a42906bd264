package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/task"
)

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
