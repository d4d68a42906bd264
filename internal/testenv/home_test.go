package testenv

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// abandonServer is the life of the copy: it says what it started.
func abandonServer() {
	server, err := Start(Majors()[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.Datadir)
	fmt.Println(server.PID())
	select {}
}

func TestServersEndWithTheProcess(t *testing.T) {
	copied := exec.Command(os.Args[0])
	copied.Env = append(os.Environ(), abandonEnv+"=yes")
	copied.Stderr = os.Stderr
	output, err := copied.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var said []string
	for len(said) < 2 && lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := copied.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = copied.Wait() // killed
	if len(said) < 2 {
		t.Fatalf("the copy said %q before it ended", said)
	}

	datadir, pid := said[0], said[1]
	home := filepath.Dir(filepath.Dir(datadir))
	eventually(t, "the home is removed", func() bool { return !exists(home) })
	// A zombie would still be listed, but has no working directory.
	if cwd, err := os.Readlink(filepath.Join("/proc", pid, "cwd")); err == nil && filepath.Dir(cwd) == filepath.Dir(datadir) {
		t.Errorf("postmaster %s still works in %s", pid, cwd)
	}
}
