package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pglab/internal/lab"
)

// driveHolders gives every attempt that holds a lane a driver, and ends the
// drivers of those whose user has moved the row on.
func (c *Controller) driveHolders(ctx context.Context, holders []lab.Holder) {
	for _, h := range holders {
		key := fmt.Sprintf("%s %d", h.Run, h.Attempt)
		if !lab.Active(h.State) {
			c.drivers.cancel(key, errRowGone)
		}
		c.drivers.start(ctx, key, func(work context.Context) { c.drive(ctx, work, h) })
	}
}

// drive takes an attempt from wherever it stands to its end and lets its lane
// go. life ends with the controller, work also when the row moves on.
func (c *Controller) drive(life, work context.Context, h lab.Holder) {
	log := c.Log.With("run", h.Run, "attempt", h.Attempt)
	if lab.Active(h.State) {
		outcome, err := c.attempt(work, h)
		if errors.Is(context.Cause(work), errStopping) || life.Err() != nil {
			return // the next controller adopts what runs
		}
		if err != nil {
			outcome = lab.Outcome{State: lab.RunFailed, Message: err.Error()}
		}
		if errors.Is(context.Cause(work), errRowGone) {
			outcome = lab.Outcome{State: lab.RunCanceled}
		}
		log.Info("run ended", "state", outcome.State, "message", outcome.Message)
		if !persist(life, func() error { return c.Store.Finish(life, h.Run, h.Attempt, outcome) }) {
			return
		}
	}
	if persist(life, func() error { return c.removeTasks(life, h) }) {
		persist(life, func() error { return c.Store.Release(life, h) })
		c.Wake()
	}
}

// persist repeats fn until it succeeds; false when the controller stops first.
func persist(life context.Context, fn func() error) bool {
	for pause := 100 * time.Millisecond; life.Err() == nil; pause = min(2*pause, 5*time.Second) {
		if fn() == nil {
			return true
		}
		sleep(life, pause)
	}
	return false
}

// removeTasks takes down every task of an attempt. nil: nothing of it runs any more.
func (c *Controller) removeTasks(ctx context.Context, h lab.Holder) error {
	runtime, err := c.runtime(h.Runtime)
	if err != nil {
		return nil // a runtime that is not here runs nothing here
	}
	for _, phase := range []string{lab.TaskInit, lab.TaskWarmup, lab.TaskBench} {
		if err := runtime.RemoveTask(ctx, lab.TaskRef{Run: h.Run, Attempt: h.Attempt, Phase: phase}); err != nil {
			c.Log.Warn("task not removed", "run", h.Run, "phase", phase, "err", err)
			return err
		}
	}
	return nil
}
