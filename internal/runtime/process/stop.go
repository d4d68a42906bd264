package process

import (
	"context"
	"errors"
	"fmt"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// RemoveServer implements lab.Runtime.
func (r *Runtime) RemoveServer(ctx context.Context, ref lab.ServerRef) error {
	if err := checkServerRef(ref); err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, r.serverDir(ref))
	if err != nil {
		return err
	}
	defer unlock()
	record, err := r.loadServer(ref)
	if errors.Is(err, lab.ErrNotFound) {
		return removeDir(r.serverDir(ref)) // what an interrupted removal left
	}
	if err != nil {
		return err
	}
	if err := r.stopServer(ctx, &record); err != nil {
		return err
	}
	if err := postgres.ReleaseShared(r.dataDir(record), record.Shared); err != nil {
		return err
	}
	if err := removeSocketDir(record.SocketDir); err != nil {
		return err
	}
	return removeDir(r.serverDir(ref))
}

// stopServer ends a server in Postgres's order, then whatever else is in
// its group, and removes the group.
func (r *Runtime) stopServer(ctx context.Context, record *serverRecord) error {
	running, _ := r.running(*record)
	if running.PID != 0 {
		// On record first: a watcher is not to take it for a mishap.
		record.Stopped = stoppedByUs
		if err := r.saveServer(*record); err != nil {
			return err
		}
		if _, err := postgres.StopPostmaster(ctx, running); err != nil {
			return err
		}
	}
	// Processes are to be gone when this returns, also when time is short.
	ctx = context.WithoutCancel(ctx)
	if err := r.killServer(ctx, *record); err != nil {
		return err
	}
	return r.ground.removeGroup(ctx, record.Group)
}

// killServer ends every process of a server at once. Process groups do not
// tell which these are: every backend makes one of its own.
func (r *Runtime) killServer(ctx context.Context, record serverRecord) error {
	if record.Group.exists() {
		return record.Group.kill(ctx)
	}
	return killEvery(ctx, servesFrom(r.dataDir(record)))
}

// Shutdown implements lab.Runtime: it stops tasks, then servers, and removes
// the lab's groups. Nothing of it runs afterwards.
func (r *Runtime) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	objects, err := r.List(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(
		together(objects, func(object lab.Object) error {
			if object.Task == nil {
				return nil
			}
			return r.StopTask(ctx, *object.Task)
		}),
		together(objects, func(object lab.Object) error {
			if object.Server == nil {
				return nil
			}
			return r.shutServer(ctx, *object.Server)
		}),
	)
	if err != nil {
		return err
	}
	r.watchers.Wait()
	return r.ground.remove()
}

func (r *Runtime) shutServer(ctx context.Context, ref lab.ServerRef) error {
	unlock, err := r.locks.lock(ctx, r.serverDir(ref))
	if err != nil {
		return err
	}
	defer unlock()
	record, err := r.loadServer(ref)
	if err != nil {
		return err
	}
	if err := r.stopServer(ctx, &record); err != nil {
		return fmt.Errorf("stopping server %s: %w", ref.Name, err)
	}
	return nil
}

// together does the same for every object at a time and joins the errors.
func together(objects []lab.Object, do func(lab.Object) error) error {
	results := make(chan error)
	for _, object := range objects {
		go func() { results <- do(object) }()
	}
	var problems []error
	for range objects {
		problems = append(problems, <-results)
	}
	return errors.Join(problems...)
}
