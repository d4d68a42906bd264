package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTaskKeepsOutputAndExitCode(t *testing.T) {
	dir := testDir(t)
	before := time.Now()
	cmd := shim(t, shellJob(dir, `echo out; echo err >&2; pwd; exit 7`).TaskArgv(self(t)))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("the shim's exit code is %d, want the program's", code)
	}
	if got, want := read(t, filepath.Join(dir, "stdout")), "out\n"+dir+"\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := read(t, filepath.Join(dir, "stderr")); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	status, err := ReadStatus(filepath.Join(dir, "status.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !status.Ended() || status.ExitCode != 7 || status.Signal != "" || status.PID == 0 {
		t.Errorf("status %+v", status)
	}
	if status.StartedAt.Before(before) || status.EndedAt.Before(status.StartedAt) || status.EndedAt.After(time.Now()) {
		t.Errorf("ran from %v to %v", status.StartedAt, status.EndedAt)
	}
	if names := list(t, dir); names != "status.json stderr stdout" {
		t.Errorf("files: %s", names)
	}
}

func TestTaskNamesTheSignalThatEndedIt(t *testing.T) {
	dir := testDir(t)
	cmd := shim(t, shellJob(dir, `kill -9 $$`).TaskArgv(self(t)))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 {
		t.Errorf("exit code %d", code)
	}
	if status, err := ReadStatus(filepath.Join(dir, "status.json")); err != nil || status.Signal != "killed" || !status.Ended() {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestTaskThatCannotStartSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		code    int
		want    string
	}{
		"no such program": {"/nowhere/pgbench", exitMissing, "running /nowhere/pgbench: "},
		"not executable":  {"/etc/passwd", exitNotRun, "running /etc/passwd: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testDir(t)
			job := shellJob(dir, "")
			job.Argv = []string{test.program}
			cmd := shim(t, job.TaskArgv(self(t)))
			_ = cmd.Wait()
			status, err := ReadStatus(job.Status)
			if err != nil || !status.Ended() || !strings.HasPrefix(status.Error, test.want) {
				t.Errorf("status %+v, %v", status, err)
			}
			if code := cmd.ProcessState.ExitCode(); code != test.code || status.ExitCode != test.code {
				t.Errorf("exit codes %d and %d, want %d", code, status.ExitCode, test.code)
			}
		})
	}
}

func TestTaskStatusWhileItRuns(t *testing.T) {
	dir := testDir(t)
	job := shellJob(dir, `exec sleep 600`)
	cmd := shim(t, job.TaskArgv(self(t)))
	status := started(t, job)
	if status.Ended() || status.PID == cmd.Process.Pid {
		t.Errorf("status %+v", status)
	}
	score := strings.TrimSpace(read(t, fmt.Sprintf("/proc/%d/oom_score_adj", status.PID)))
	ours, err := strconv.Atoi(strings.TrimSpace(read(t, "/proc/self/oom_score_adj")))
	if err != nil {
		t.Fatal(err)
	}
	if score != strconv.Itoa(min(ours+500, 1000)) {
		t.Errorf("oom_score_adj of the client is %s, ours %d", score, ours)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, err := ReadStatus(job.Status); err != nil || status.Signal != "interrupt" {
		t.Errorf("status after SIGTERM %+v, %v", status, err)
	}
}

func TestTaskThatIgnoresPoliteSignalsIsKilled(t *testing.T) {
	dir := testDir(t)
	job := shellJob(dir, `trap "" INT TERM; echo trapped; while :; do sleep 1; done`)
	cmd := shim(t, job.TaskArgv(self(t)))
	eventually(t, "the traps are set", func() bool { return strings.Contains(read0(job.Stdout), "trapped") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, err := ReadStatus(job.Status); err != nil || status.Signal != "killed" {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestTaskOutlivesItsStarter(t *testing.T) {
	dir := testDir(t)
	job := shellJob(dir, `read line < `+filepath.Join(dir, "go")+`; echo done`)
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "go"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A starter that starts the shim in the background and is killed.
	starter := exec.Command("/bin/sh", append([]string{"-c", `"$@" & wait`, "starter"}, job.TaskArgv(self(t))...)...)
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	status := started(t, job)
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	if err := syscall.Kill(status.PID, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		t.Fatalf("the program died with the starter: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end is recorded", func() bool {
		status, err := ReadStatus(job.Status)
		return err == nil && status.Ended()
	})
	if got := read(t, job.Stdout); got != "done\n" {
		t.Errorf("stdout %q", got)
	}
}

func TestTaskCleansTheEnvironment(t *testing.T) {
	t.Setenv("PGHOST", "/sockets")
	t.Setenv("PGLAB_ENGINE", "postgres://secret")
	t.Setenv("SECRET", "x")
	t.Setenv("LC_ALL", "C")
	dir := testDir(t)
	cmd := shim(t, shellJob(dir, `env`).TaskArgv(self(t)))
	_ = cmd.Wait()
	env := read(t, filepath.Join(dir, "stdout"))
	if !strings.Contains(env, "PGHOST=/sockets\n") || !strings.Contains(env, "LC_ALL=C\n") {
		t.Errorf("lost what pgbench needs: %s", env)
	}
	if strings.Contains(env, "SECRET") || strings.Contains(env, "PGLAB") {
		t.Errorf("passed on what is ours: %s", env)
	}
}

func TestTaskGivesUpPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has privileges to give up")
	}
	dir := testDir(t)
	cmd := shim(t, shellJob(dir, `id -u; id -g; id -G; awk '/^Uid/ {print $2, $3, $4, $5}' /proc/$PPID/status`).TaskArgv(self(t)))
	_ = cmd.Wait()
	const id = "65534"
	if got, want := read(t, filepath.Join(dir, "stdout")), strings.Join([]string{id, id, id, id + " " + id + " " + id + " " + id, ""}, "\n"); got != want {
		t.Errorf("user, group, groups and the shim's own ids:\n%swant\n%s", got, want)
	}
}

func TestTaskKeepsItsResultOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := testDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=777"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	cmd := shim(t, shellJob(dir, `cat /dev/zero > full 2>/dev/null; exit 4`).TaskArgv(self(t)))
	_ = cmd.Wait()
	if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 8192), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if status, err := ReadStatus(filepath.Join(dir, "status.json")); err != nil || status.ExitCode != 4 || !status.Ended() {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestReadStatusBeforeThereIsOne(t *testing.T) {
	if _, err := ReadStatus(filepath.Join(testDir(t), "status.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
}

func TestReadStatusFollowsNoLink(t *testing.T) {
	dir := testDir(t)
	if err := os.WriteFile(filepath.Join(dir, "real"), []byte(`{"pid":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "status.json")); err != nil {
		t.Fatal(err)
	}
	if status, err := ReadStatus(filepath.Join(dir, "status.json")); err == nil {
		t.Errorf("read %+v through a link", status)
	}
}

func started(t *testing.T, job Job) Status {
	t.Helper()
	var status Status
	eventually(t, "the program runs", func() (ok bool) {
		var err error
		status, err = ReadStatus(job.Status)
		return err == nil
	})
	return status
}

func read0(path string) string {
	text, _ := os.ReadFile(path) // empty while it is not there
	return string(text)
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}
