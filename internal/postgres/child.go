package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Child is a process that we started. Unlike an adopted one it tells how it
// ended. It is not tied to us: it lives on when we die.
type Child struct {
	Identity
	gate *os.File // its write end; nil when there is none
	done chan struct{}
	exit Exit // written before done closes
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // valid when Signal is 0
	Signal syscall.Signal // that ended it
}

// String says it in words: "exited with status 1", "ended by signal 9 (killed)".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Command is a program to start and to leave running.
type Command struct {
	Argv []string // Argv[0] is a path
	Dir  string   // empty: /
	Env  []string // all of it; nothing of ours is passed on
	Log  string   // file that stdout and stderr are appended to; empty: dropped
	As   *Account
	// Gate gives the program a pipe as descriptor 3 that it is to read one
	// byte from before it does anything. Until Open sends the byte there is time to record
	// who it is; should we die first, the program reads the end of file and
	// ends: nothing ever runs that no record knows of.
	Gate bool
}

// Start runs the command in a session of its own, without a terminal and
// without a death signal, and reaps it when it ends.
func Start(command Command) (*Child, error) {
	cmd := &exec.Cmd{Path: command.Argv[0], Args: command.Argv, Dir: command.Dir, Env: command.Env}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean ours
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: command.As.credential()}
	if command.Log != "" {
		log, err := os.OpenFile(command.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o640)
		if err != nil {
			return nil, fmt.Errorf("opening log: %w", err)
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
	}
	child := &Child{done: make(chan struct{})}
	if command.Gate {
		far, near, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("making gate: %w", err)
		}
		defer far.Close()
		cmd.ExtraFiles, child.gate = []*os.File{far}, near
	}
	if err := child.start(cmd); err != nil {
		if child.gate != nil {
			_ = child.gate.Close()
		}
		return nil, fmt.Errorf("starting %s as %s: %w", command.Argv[0], command.As, err)
	}
	return child, nil
}

func (c *Child) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	// Its pid cannot be another's before it is reaped, which is below.
	identity, err := Identify(cmd.Process.Pid)
	if err != nil && !errors.Is(err, ErrNotRunning) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	c.Identity = identity
	go c.reap(cmd)
	return nil
}

func (c *Child) reap(cmd *exec.Cmd) {
	// Waiting on the pidfd first holds no thread.
	_ = c.Wait(context.Background())
	_ = cmd.Wait() // its error repeats the state
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		c.exit = Exit{Signal: status.Signal()}
	} else {
		c.exit = Exit{Code: cmd.ProcessState.ExitCode()}
	}
	close(c.done)
}

// Open lets a child pass its gate.
func (c *Child) Open() error {
	_, err := c.gate.Write([]byte{'\n'})
	if closeErr := c.gate.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("opening gate of process %d: %w", c.PID, err)
	}
	return nil
}

// Refuse ends a child that waits at its gate.
func (c *Child) Refuse() {
	_ = c.gate.Close() // the end of file is the refusal
	<-c.done
}

// Done is closed when the child has ended and is reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit tells how the child ended; false while it runs.
func (c *Child) Exit() (Exit, bool) {
	select {
	case <-c.done:
		return c.exit, true
	default:
		return Exit{}, false
	}
}
