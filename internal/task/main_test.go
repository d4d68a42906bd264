package task

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the pglab binary: started with a
// subcommand, it is the shim.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "task":
			os.Exit(Main(os.Args[2:]))
		case "enter":
			os.Exit(Enter(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// account is an unprivileged user and group to become when we are root.
const account = 65534

// testDir is a directory that every OS user may write to.
func testDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pglab-task-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shellJob is a job that runs a shell script, with all its files in dir.
func shellJob(dir, script string) Job {
	job := Job{
		Launch: Launch{Argv: []string{"/bin/sh", "-c", script}},
		Dir:    dir,
		Stdout: filepath.Join(dir, "stdout"),
		Stderr: filepath.Join(dir, "stderr"),
		Status: filepath.Join(dir, "status.json"),
	}
	if os.Geteuid() == 0 {
		job.UID, job.GID = account, account
	}
	return job
}

// shim starts the shim with an argv of Job or Launch.
func shim(t *testing.T, argv []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
