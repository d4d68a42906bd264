package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Wait returns nil when the process has ended, whoever its parent is, or
// the context's error.
func (id Identity) Wait(ctx context.Context) error {
	pidfd, err := id.open()
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer pidfd.Close()
	// The descriptor sits in Go's poller, so waiting holds no thread, and
	// a deadline in the past wakes it.
	stop := context.AfterFunc(ctx, func() { _ = pidfd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("waiting for process %d: %w", id.PID, err)
	}
	err = raw.Read(hasEnded)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("waiting for process %d: %w", id.PID, err)
	}
	return nil
}

// Signal sends a signal to this very process, never to a later one with its
// pid. ErrNotRunning when it has ended.
func (id Identity) Signal(signal syscall.Signal) error {
	pidfd, err := id.open()
	if err != nil {
		return err
	}
	defer pidfd.Close()
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("signalling process %d: %w", id.PID, err)
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), signal, nil, 0) }); err != nil {
		return fmt.Errorf("signalling process %d: %w", id.PID, err)
	}
	switch {
	case errors.Is(sent, unix.ESRCH):
		return fmt.Errorf("process %d: %w", id.PID, ErrNotRunning)
	case sent != nil:
		return fmt.Errorf("signalling process %d: %w", id.PID, sent)
	}
	return nil
}

// open returns a pidfd of the process, or ErrNotRunning.
func (id Identity) open() (*os.File, error) {
	if id.PID <= 0 {
		return nil, ErrNotRunning
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", id.PID, ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("opening pidfd of process %d: %w", id.PID, err)
	}
	pidfd := os.NewFile(uintptr(fd), "pidfd")
	// Checked after opening: from here on the descriptor cannot change its mind.
	if !id.Alive() {
		_ = pidfd.Close()
		return nil, fmt.Errorf("process %d: %w", id.PID, ErrNotRunning)
	}
	return pidfd, nil
}

// hasEnded reports whether a pidfd is readable, which it is once its process
// has ended, reaped or not.
func hasEnded(fd uintptr) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	ready, err := unix.Poll(set, 0)
	return err == nil && ready == 1
}
