package task

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Main runs `pglab task`: it joins cgroups, opens the output files, changes
// to an OS user, runs pgbench, waits for it and returns its exit code
// (128 + n when signal n ended it).
func Main(args []string) int {
	job, err := parseTask(args, os.Stderr)
	if err != nil {
		return usage("task", err)
	}
	if code, refused := job.prepare("task"); refused {
		return code
	}
	// Whoever closes the terminal of the lab does not mean its benchmarks.
	signal.Ignore(syscall.SIGHUP)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)

	status, err := job.run(asked)
	if err != nil {
		return complain("task", err)
	}
	return status.code()
}

// run runs the program and records how that went. The error is of the shim's
// own part; what the program does is in the status.
func (j Job) run(asked <-chan os.Signal) (Status, error) {
	cmd := &exec.Cmd{Args: j.Argv, Dir: j.Dir, Env: cleanEnv(os.Environ())}
	closeOutput, err := j.openOutput(cmd)
	if err != nil {
		return Status{}, err
	}
	defer closeOutput()
	if err := dropPrivileges(j.UID, j.GID); err != nil {
		return Status{}, err
	}
	record, err := createStatusFile(j.Status)
	if err != nil {
		return Status{}, err
	}
	defer record.discard()

	status := Status{StartedAt: time.Now()}
	if err := start(cmd); err != nil {
		status.Error = fmt.Sprintf("running %s: %v", j.Argv[0], err)
		status.ExitCode = exitCodeFor(err)
		status.EndedAt = status.StartedAt
		fmt.Fprintf(os.Stderr, "pglab task: %s\n", status.Error)
		return status, record.end(status)
	}
	status.PID = cmd.Process.Pid
	preferForOOM(status.PID)
	if err := record.begin(status); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return Status{}, err
	}
	waitFor(cmd, asked)
	// The wall clock may be set meanwhile; the time that passed is monotonic.
	status.EndedAt = status.StartedAt.Add(time.Since(status.StartedAt))
	status.describe(cmd.ProcessState.Sys().(syscall.WaitStatus))
	return status, record.end(status)
}

func start(cmd *exec.Cmd) error {
	program, err := exec.LookPath(cmd.Args[0])
	if err != nil {
		return errors.Unwrap(err) // it repeats the name
	}
	cmd.Path = program
	return cmd.Start()
}

// openOutput opens the output files, before the change of user: they lie
// where the program itself cannot replace them.
func (j Job) openOutput(cmd *exec.Cmd) (closeAll func(), err error) {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var opened []*os.File
	closeAll = func() {
		for _, file := range opened {
			_ = file.Close()
		}
	}
	open := func(path string) (*os.File, error) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o640)
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("opening output: %w", err)
		}
		opened = append(opened, file)
		return file, nil
	}
	if j.Stdout != "" {
		if cmd.Stdout, err = open(j.Stdout); err != nil {
			return nil, err
		}
	}
	if j.Stderr != "" {
		if cmd.Stderr, err = open(j.Stderr); err != nil {
			return nil, err
		}
	}
	return closeAll, nil
}

// cleanEnv keeps what pgbench, libpq and the dynamic linker read.
func cleanEnv(environ []string) []string {
	keep := []string{"PATH", "LANG", "TZ", "LD_LIBRARY_PATH"}
	clean := []string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		libpq := strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, "PGLAB_")
		if libpq || strings.HasPrefix(name, "LC_") || slices.Contains(keep, name) {
			clean = append(clean, variable)
		}
	}
	return clean
}

// preferForOOM makes the kernel, short of memory, choose the client before
// any server. Raising the score needs no privilege; a kernel that refuses
// only makes a worse choice.
func preferForOOM(pid int) {
	const raise, highest = 500, 1000
	path := "/proc/" + strconv.Itoa(pid) + "/oom_score_adj"
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	_ = os.WriteFile(path, []byte(strconv.Itoa(min(score+raise, highest))), 0)
}
