package testenv

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Call is what one run of a program is given.
type Call struct {
	Args  []string
	Stdin string
	Dir   string   // empty: the directory of the test
	Env   []string // "NAME=value", added to an environment with nothing of the developer's
}

// Output is what one run of a program left.
type Output struct {
	Stdout string
	Stderr string
	Code   int // exit status; -1 when a signal ended it
}

// Psql runs the real psql, without psqlrc, and returns when it has ended.
// When ctx ends first, psql is interrupted as from the keyboard; so a \watch
// is ended. The test fails only when psql could not be run.
func Psql(ctx context.Context, t testing.TB, call Call) Output {
	t.Helper()
	path, err := findPsql()
	if err != nil {
		t.Fatal(err)
	}
	call.Args = append([]string{"--no-psqlrc"}, call.Args...)
	call.Env = append([]string{"PGPASSFILE=/dev/null", "PGCONNECT_TIMEOUT=10"}, call.Env...)
	return Run(ctx, t, path, call)
}

// Run runs a program and returns when it has ended. When ctx ends first, it
// gets SIGINT and, 5 s later, SIGKILL. The test fails only when the program
// could not be run.
func Run(ctx context.Context, t testing.TB, path string, call Call) Output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, call.Args...)
	cmd.Dir = call.Dir
	cmd.Env = append(cleanEnv(), call.Env...)
	cmd.Stdin = strings.NewReader(call.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		t.Fatalf("running %s: %v", path, err)
	}
	output := Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: -1}
	if cmd.ProcessState != nil {
		output.Code = cmd.ProcessState.ExitCode()
	}
	return output
}
