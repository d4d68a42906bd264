package postgres

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// stopOrder is how a postmaster is asked to end, ever less politely: fast
// shutdown (sessions are ended, a checkpoint written), immediate shutdown
// (recovery at the next start), and the kernel.
var stopOrder = []struct {
	signal   syscall.Signal
	patience time.Duration
}{
	{syscall.SIGINT, 10 * time.Second},
	{syscall.SIGQUIT, 5 * time.Second},
	{syscall.SIGKILL, 5 * time.Second},
}

// StopPostmaster ends a postmaster and returns when it has ended: SIGINT,
// after 10 s SIGQUIT, after 5 s SIGKILL. It reports the last signal sent,
// 0 when it had ended before. When ctx ends, the patience ends with it and
// SIGKILL is next. Backends of a killed postmaster may outlive it a little.
func StopPostmaster(ctx context.Context, postmaster Identity) (last syscall.Signal, err error) {
	for i, step := range stopOrder {
		lastStep := i == len(stopOrder)-1
		if ctx.Err() != nil && !lastStep {
			continue
		}
		err := postmaster.Signal(step.signal)
		if errors.Is(err, ErrNotRunning) {
			return last, nil
		}
		if err != nil {
			return last, fmt.Errorf("stopping postmaster: %w", err)
		}
		last = step.signal
		waiting := ctx
		if lastStep {
			waiting = context.WithoutCancel(ctx)
		}
		waiting, cancel := context.WithTimeout(waiting, step.patience)
		err = postmaster.Wait(waiting)
		cancel()
		if err == nil {
			return last, nil
		}
	}
	return last, fmt.Errorf("stopping postmaster: process %d does not end on SIGKILL", postmaster.PID)
}
