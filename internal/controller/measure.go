package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pglab/internal/lab"
	"pglab/internal/pgbench"
	"pglab/internal/sampler"
)

// measure runs the timed pgbench, or adopts the one that an earlier
// controller started, and makes its outcome.
func (a *attempt) measure(ctx context.Context) (lab.Outcome, error) {
	ref := a.task(lab.TaskBench)
	server, err := a.runtime.InspectServer(ctx, a.server())
	if err != nil {
		return lab.Outcome{}, fmt.Errorf("looking at server: %w", err)
	}
	if err := a.interrupted(ctx, ref, server); err != nil {
		return lab.Outcome{}, err
	}
	journal := a.journal()
	defer func() {
		if !errors.Is(context.Cause(ctx), errStopping) {
			_ = os.Remove(journal) // what it held is in the outcome
		}
	}()
	readings, err := a.sample(ctx, journal, server)
	if err != nil {
		return lab.Outcome{}, err
	}
	defer readings.Close()
	task, err := a.startTimed(ctx, ref)
	if err != nil {
		return lab.Outcome{}, err
	}
	if task.Running {
		a.attach(readings, lab.RolePgbench, task.Usage)
		readings.Expect(task.StartedAt.Add(time.Duration(a.run.Seconds) * time.Second))
	}
	task, stderr, err := a.follow(ctx, ref, readings)
	a.copyTaskLogs(ctx, a.runtime, ref)
	if err != nil {
		return lab.Outcome{}, err
	}
	readings.Close()
	return a.judge(ctx, task, stderr, readings)
}

// interrupted says, before anything is started or adopted, why that would be
// in vain: the server does not run, or it was started again after pgbench.
func (a *attempt) interrupted(ctx context.Context, ref lab.TaskRef, server lab.Server) error {
	task, err := a.runtime.InspectTask(ctx, ref)
	switch {
	case err == nil && (server.Phase != lab.ServerReady || server.StartedAt.After(task.StartedAt)):
		return fmt.Errorf("pglab was stopped, and the server with it, while the run was under way; "+
			"try again: UPDATE lab.runs SET state = 'queued' WHERE run = '%s'", a.run.Run)
	case server.Phase != lab.ServerReady:
		return lab.Unavailable("server %q is %s: %s", server.Ref.Name, server.Phase, server.Message)
	}
	return nil
}

func (a *attempt) journal() string {
	return filepath.Join(a.Journals, fmt.Sprintf("%s-%d", a.run.Run, a.run.Attempt))
}

// sample starts to read the server's counters, before pgbench is there: its
// start is an edge of the window.
func (a *attempt) sample(ctx context.Context, journal string, server lab.Server) (*sampler.Sampler, error) {
	readings, err := sampler.Resume(sampler.Config{
		Journal: journal,
		Log:     a.log,
		Sink: func(rows []lab.Sample) {
			ctx, cancel := recording(ctx)
			defer cancel()
			if err := a.Store.AddUsage(ctx, a.run.Run, a.run.Attempt, a.run.Cluster, rows); err != nil {
				a.log.Warn("usage rows lost", "rows", len(rows), "err", err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("starting sampler: %w", err)
	}
	a.attach(readings, lab.RolePostgres, server.Usage)
	return readings, nil
}

// attach reads a role's counters if they can be read; a run without them
// is still a run, with NULL where they would be.
func (a *attempt) attach(readings *sampler.Sampler, role string, usage lab.UsageHandle) {
	if err := readings.Attach(role, usage); err != nil {
		a.log.Warn("usage not measured", "role", role, "err", err)
	}
}

// startTimed starts the timed pgbench unless it was started already.
func (a *attempt) startTimed(ctx context.Context, ref lab.TaskRef) (lab.Task, error) {
	task, err := a.runtime.InspectTask(ctx, ref)
	if err == nil {
		a.log.Info("adopting benchmark", "running", task.Running)
		return task, nil
	}
	if !errors.Is(err, lab.ErrNotFound) {
		return lab.Task{}, fmt.Errorf("looking for a running pgbench: %w", err)
	}
	args, files := pgbench.Timed(a.run)
	spec, err := a.taskSpec(lab.TaskBench, args, files)
	if err != nil {
		return lab.Task{}, err
	}
	if task, err = a.runtime.StartTask(ctx, spec); err != nil {
		return lab.Task{}, fmt.Errorf("starting pgbench: %w", err)
	}
	return task, a.Store.StartedTask(ctx, a.run.Run, a.run.Attempt, task.StartedAt)
}

// follow records pgbench's progress until it ends, and takes the readings of
// its end.
func (a *attempt) follow(ctx context.Context, ref lab.TaskRef, readings *sampler.Sampler) (lab.Task, *pgbench.Stderr, error) {
	progress, err := a.newProgress(ctx)
	if err != nil {
		return lab.Task{}, nil, err
	}
	stderr := &pgbench.Stderr{OnProgress: progress.take}
	following, ended := context.WithCancel(ctx)
	var tailing sync.WaitGroup
	var tailErr error
	tailing.Go(func() {
		tailErr = tail(following, a.runtime, ref, lab.Stderr, func(piece []byte) {
			_, _ = stderr.Write(piece) // it never fails
			progress.save(ctx)
		})
	})
	task, err := a.runtime.WaitTask(ctx, ref)
	readings.Final()
	ended()
	tailing.Wait()
	if err != nil {
		return task, stderr, fmt.Errorf("waiting for pgbench: %w", err)
	}
	return task, stderr, tailErr
}

// judge turns what pgbench left into an outcome: done only if everything holds.
func (a *attempt) judge(ctx context.Context, task lab.Task, stderr *pgbench.Stderr, readings *sampler.Sampler) (lab.Outcome, error) {
	stdout, err := readTaskLog(ctx, a.runtime, a.task(lab.TaskBench), lab.Stdout)
	if err != nil {
		return lab.Outcome{}, err
	}
	outcome := lab.Outcome{State: lab.RunDone, TaskStartedAt: task.StartedAt}
	after, err := a.runtime.InspectServer(ctx, a.server())
	switch {
	case err != nil:
		return lab.Outcome{}, fmt.Errorf("the server was lost during the run: %w", err)
	case after.Phase != lab.ServerReady:
		return lab.Outcome{}, fmt.Errorf("the server stopped during the run: %s", after.Message)
	case after.StartedAt.After(task.StartedAt):
		return lab.Outcome{}, fmt.Errorf("the server was restarted during the run; SELECT text FROM lab.logs WHERE object = 'cluster %s' says why", after.Ref.Name)
	}
	summary, doubt, err := pgbench.Judge(task, string(stdout), stderr)
	if err != nil {
		return lab.Outcome{}, err
	}
	if summary.ClientVersion == "" {
		summary.ClientVersion = task.Client
	}
	outcome.Summary = &summary
	outcome.Server, outcome.Client = readings.Window(summary.WindowStart, summary.WindowEnd)
	outcome.Warnings = warnings(doubt, outcome)
	return outcome, nil
}

// warnings says what makes an outcome's numbers doubtful.
func warnings(doubt string, outcome lab.Outcome) (all []string) {
	if doubt != "" {
		all = append(all, doubt)
	}
	if outcome.Server.CPUSeconds == nil {
		all = append(all, "the server's CPU was not measured at both edges of the window")
	}
	if outcome.Client.CPUSeconds == nil {
		all = append(all, "pgbench's CPU was not measured at both edges of the window")
	}
	if outcome.Server.Source == lab.SourceProc {
		all = append(all, "usage comes from /proc (no cgroup): CPU to 10 ms for each process, memory coarse")
	}
	if failed := outcome.Summary.Failed; failed != nil && *failed > 0 {
		all = append(all, fmt.Sprintf("%d transactions failed", *failed))
	}
	return all
}
