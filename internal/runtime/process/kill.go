package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pglab/internal/postgres"
)

// killEvery ends the processes that belong, until none is left. It is for
// hosts where nobody may make groups: whoever forks fast enough escapes it.
func killEvery(ctx context.Context, belongs func(pid int) bool) error {
	deadline := time.Now().Add(killPatience)
	for {
		left, err := processes(belongs)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("killing: %d processes do not end, process %d among them", len(left), left[0].PID)
		}
		for _, process := range left {
			if err := process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, postgres.ErrNotRunning) {
				return err
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("killing: %w", ctx.Err())
		}
	}
}

// processes lists the running processes that belong.
func processes(belongs func(pid int) bool) ([]postgres.Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []postgres.Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// Named before it is looked at: another one of that pid is not meant.
		identity, err := postgres.Identify(pid)
		if err == nil && belongs(pid) {
			found = append(found, identity)
		}
	}
	return found, nil
}

// servesFrom tells the processes of a server by their program and working
// directory: a postmaster and its backends work in the data directory.
// Others who only look around there are spared.
func servesFrom(datadir string) func(pid int) bool {
	want, err := os.Stat(datadir)
	return func(pid int) bool {
		proc := "/proc/" + strconv.Itoa(pid)
		program, linkErr := os.Readlink(proc + "/exe")
		there, statErr := os.Stat(proc + "/cwd")
		return err == nil && linkErr == nil && statErr == nil && os.SameFile(there, want) &&
			filepath.Base(strings.TrimSuffix(program, " (deleted)")) == "postgres"
	}
}

// inSession tells processes by their session, which the shim of a task
// leads and pgbench stays in.
func inSession(leader postgres.Identity) func(pid int) bool {
	return func(pid int) bool {
		if leader.PID == 0 {
			return false
		}
		identity, err := postgres.Identify(pid)
		if err != nil || identity.Boot != leader.Boot || identity.Start < leader.Start {
			return false
		}
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return false
		}
		// The name before may hold anything; the session is the sixth field.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		const session = 6 - 3
		return len(fields) > session && string(fields[session]) == strconv.Itoa(leader.PID)
	}
}
