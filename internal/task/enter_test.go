package task

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestEnterBecomesTheProgram(t *testing.T) {
	launch := Launch{Argv: []string{"/bin/sh", "-c", "echo $$ $(id -u)"}}
	uid := os.Geteuid()
	if uid == 0 {
		launch.UID, launch.GID, uid = account, account, account
	}
	argv := launch.EnterArgv(self(t))
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(cmd.Process.Pid) + " " + strconv.Itoa(uid) + "\n"; out.String() != want {
		t.Errorf("pid and user %q, want %q", out.String(), want)
	}
}

func TestEnterSaysWhatIsInTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		launch Launch
		code   int
		want   string
	}{
		"no such program": {Launch{Argv: []string{"/nowhere/postgres"}}, exitMissing, "/nowhere/postgres"},
		"no such group":   {Launch{Groups: []string{"/nowhere"}, Argv: []string{"/bin/true"}}, exitShim, "joining cgroup"},
	} {
		t.Run(name, func(t *testing.T) {
			argv := test.launch.EnterArgv(self(t))
			cmd := exec.Command(argv[0], argv[1:]...)
			output, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("exit code %d, said %q", code, output)
			}
		})
	}
}

func TestGateEndsTheShimWithItsStarter(t *testing.T) {
	dir := testDir(t)
	mark := filepath.Join(dir, "mark")
	for name, test := range map[string]struct {
		opens bool
		code  int
	}{
		"opened":            {true, 0},
		"starter went away": {false, exitShim},
	} {
		t.Run(name, func(t *testing.T) {
			far, near, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			argv := Launch{Gate: true, Argv: []string{"/bin/sh", "-c", "test ! -e /proc/self/fd/3 && : > " + mark}}.EnterArgv(self(t))
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.ExtraFiles = []*os.File{far}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = far.Close()
			if test.opens {
				if _, err := near.Write([]byte("\n")); err != nil {
					t.Fatal(err)
				}
			}
			_ = near.Close()
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if _, err := os.Stat(mark); (err == nil) != test.opens {
				t.Errorf("mark: %v", err)
			}
			_ = os.Remove(mark)
		})
	}
}
