package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postmaster is the process of a server, our child.
type postmaster struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is reaped
}

func startPostmaster(cmd *exec.Cmd) (*postmaster, error) {
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	p := &postmaster{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

func (p *postmaster) pid() int { return p.cmd.Process.Pid }

func (p *postmaster) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends the postmaster as politely as it lets us: fast shutdown,
// immediate shutdown, SIGKILL.
func (p *postmaster) stop() error {
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{
		{syscall.SIGINT, 10 * time.Second},
		{syscall.SIGQUIT, 5 * time.Second},
	} {
		_ = p.cmd.Process.Signal(step.signal) // it fails when the process has ended, which the next line sees
		select {
		case <-p.done:
			return nil
		case <-time.After(step.patience):
		}
	}
	return p.kill()
}

// kill ends the postmaster and its backends by SIGKILL, as the kernel does
// when memory runs out: a backend that is left alone may work on for long.
func (p *postmaster) kill() error {
	// Stopped, it starts no backend while we look, and reaps none: their pids
	// stay theirs.
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	backends, err := children(p.pid())
	for _, pid := range backends {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return err
}

// children lists the processes whose parent is pid.
func children(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[1-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended since the listing
		}
		// The name before the last parenthesis may contain anything.
		name := strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text[name+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, fmt.Errorf("listing processes: %w", err)
		}
		found = append(found, child)
	}
	return found, nil
}
