package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"pglab/internal/lab"
	"pglab/internal/task"
)

// InspectTask implements lab.Runtime.
func (r *Runtime) InspectTask(_ context.Context, ref lab.TaskRef) (lab.Task, error) {
	record, err := r.loadTask(ref)
	if err != nil {
		return lab.Task{}, err
	}
	return r.describeTask(record), nil
}

// WaitTask implements lab.Runtime.
func (r *Runtime) WaitTask(ctx context.Context, ref lab.TaskRef) (lab.Task, error) {
	record, err := r.loadTask(ref)
	if err != nil {
		return lab.Task{}, err
	}
	if err := record.Shim.Wait(ctx); err != nil {
		return lab.Task{}, err
	}
	return r.InspectTask(ctx, ref)
}

// describeTask is a task as the outside sees it. ExitedAt stays zero for
// one that was lost: nobody saw its end.
func (r *Runtime) describeTask(record taskRecord) lab.Task {
	described := lab.Task{Ref: record.Ref, Client: record.Client, OOMKilled: record.OOMKilled || record.Group.oomKilled()}
	alive := record.Shim.Alive() // before the status is read: it is final then
	status, err := task.ReadStatus(r.statusFile(record.Ref))
	if err == nil {
		described.StartedAt = status.StartedAt
	}
	switch {
	case err == nil && status.Ended():
		described.ExitedAt, described.ExitCode, described.Signal = status.EndedAt, status.ExitCode, status.Signal
		described.Message = status.Error
	case alive:
		described.Running = true
		described.Usage = lab.UsageHandle{Source: lab.SourceProc, PID: record.Shim.PID}
		if record.Group.exists() {
			described.Usage.Source = r.ground.source()
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		described.Message = fmt.Sprintf("its end is not known: %v", err)
	case record.Shim.PID == 0:
		described.Message = "it was not started"
	default:
		described.Message = "pgbench was lost: the process that watched it was killed, or the host was restarted"
	}
	return described
}

// TaskLog implements lab.Runtime.
func (r *Runtime) TaskLog(_ context.Context, ref lab.TaskRef, stream string, offset int64) (io.ReadCloser, error) {
	if _, err := r.loadTask(ref); err != nil {
		return nil, err
	}
	if stream != lab.Stdout && stream != lab.Stderr {
		return nil, lab.InvalidSpec("a task has no stream %q", stream)
	}
	return openAt(filepath.Join(r.taskDir(ref), stream), offset)
}
