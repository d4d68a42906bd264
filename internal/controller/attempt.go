package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"pglab/internal/lab"
	"pglab/internal/pgbench"
)

// attempt is one try at a run, on its way through the states.
type attempt struct {
	*Controller
	holder  lab.Holder
	run     lab.Run
	cluster lab.Cluster
	runtime lab.Runtime
	log     *slog.Logger
}

// attempt takes an attempt to its outcome. The error is why it failed, for
// the row's message.
func (c *Controller) attempt(ctx context.Context, h lab.Holder) (lab.Outcome, error) {
	a := &attempt{Controller: c, holder: h, log: c.Log.With("run", h.Run, "attempt", h.Attempt)}
	var err error
	if a.run, err = c.Store.Run(ctx, h.Run); err != nil {
		return lab.Outcome{}, err
	}
	timeout := time.Duration(a.run.TimeoutSeconds) * time.Second
	ctx, cancel := context.WithDeadlineCause(ctx, a.run.StartedAt.Add(timeout), errTimeout)
	defer cancel()

	outcome, err := a.proceed(ctx)
	if errors.Is(context.Cause(ctx), errTimeout) {
		state := a.run.State
		err = fmt.Errorf("timed out after %d s while %s; raise timeout_seconds, or see lab.logs for what it was doing", a.run.TimeoutSeconds, state)
	}
	return outcome, err
}

// proceed goes on from the state that the row is in: everything before the
// timed part can be done again, the timed part is adopted.
func (a *attempt) proceed(ctx context.Context) (lab.Outcome, error) {
	var err error
	if a.cluster, err = a.Store.Cluster(ctx, a.run.Cluster); err != nil {
		return lab.Outcome{}, err
	}
	if a.cluster.UID != a.holder.ClusterUID {
		return lab.Outcome{}, lab.NotFound("cluster %q was deleted and made anew while this run was under way", a.run.Cluster)
	}
	if a.runtime, err = a.Controller.runtime(a.cluster.Runtime); err != nil {
		return lab.Outcome{}, err
	}
	if err := pgbench.Validate(a.run); err != nil {
		return lab.Outcome{}, err
	}
	if a.run.State != lab.RunRunning {
		if err := a.prepare(ctx); err != nil {
			return lab.Outcome{}, err
		}
		if err := a.warm(ctx); err != nil {
			return lab.Outcome{}, err
		}
		if err := a.enter(ctx, lab.RunRunning); err != nil {
			return lab.Outcome{}, err
		}
	}
	return a.measure(ctx)
}

// enter moves the row to the attempt's next state.
func (a *attempt) enter(ctx context.Context, state string) error {
	moved, err := a.Store.Advance(ctx, a.run.Run, a.run.Attempt, state)
	if err != nil {
		return err
	}
	if !moved {
		return errRowGone
	}
	a.run.State = state
	return nil
}

// warm runs the same load for warmup_seconds without measuring it.
func (a *attempt) warm(ctx context.Context) error {
	if a.run.WarmupSeconds == 0 {
		return nil
	}
	if err := a.enter(ctx, lab.RunWarming); err != nil {
		return err
	}
	args, files := pgbench.Warmup(a.run)
	return a.runTask(ctx, lab.TaskWarmup, args, files)
}

// runTask runs a pgbench to its end and keeps its output in lab.logs. It must
// succeed.
func (a *attempt) runTask(ctx context.Context, phase string, args []string, files map[string]string) error {
	spec, err := a.taskSpec(phase, args, files)
	if err != nil {
		return err
	}
	// What an earlier controller left of this phase is started over.
	if err := a.runtime.RemoveTask(ctx, spec.Ref); err != nil {
		return fmt.Errorf("removing an earlier %s: %w", phase, err)
	}
	if _, err := a.runtime.StartTask(ctx, spec); err != nil {
		return fmt.Errorf("starting pgbench for %s: %w", phase, err)
	}
	task, err := a.runtime.WaitTask(ctx, spec.Ref)
	a.copyTaskLogs(ctx, a.runtime, spec.Ref)
	if err != nil {
		return fmt.Errorf("waiting for pgbench (%s): %w", phase, err)
	}
	stderr, err := readTaskLog(ctx, a.runtime, spec.Ref, lab.Stderr)
	if err != nil {
		return err
	}
	if reason := pgbench.Failure(task, stderr); reason != "" {
		return fmt.Errorf("%s: %s", phase, reason)
	}
	return nil
}

func (a *attempt) taskSpec(phase string, args []string, files map[string]string) (lab.TaskSpec, error) {
	cpu, err := lab.ParseCPU(a.run.ClientCPU)
	if err != nil {
		return lab.TaskSpec{}, lab.InvalidSpec("client_cpu: %w", err)
	}
	return lab.TaskSpec{
		Lab:     a.LabID,
		Ref:     a.task(phase),
		Server:  a.server(),
		Version: a.run.ClientVersion,
		Image:   a.run.ClientImage,
		CPU:     cpu,
		Args:    args,
		Files:   files,
	}, nil
}

func (a *attempt) task(phase string) lab.TaskRef {
	return lab.TaskRef{Run: a.run.Run, Attempt: a.run.Attempt, Phase: phase}
}

func (a *attempt) server() lab.ServerRef {
	return lab.ServerRef{Name: a.cluster.Name, UID: a.cluster.UID}
}
