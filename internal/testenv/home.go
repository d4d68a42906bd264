package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// home is the directory of this test process; everything of testenv lives in
// it. A janitor removes it, and ends the servers in it, when the process has
// ended: also after a panic, a timeout of go test or a SIGKILL, when no
// clean-up of the testing package runs.
type home struct {
	dir string
	// lifeline is the only writing end of the janitor's standard input. The
	// kernel closes it with the process.
	lifeline *os.File
}

// processHome makes the home at its first call.
var processHome = sync.OnceValues(makeHome)

func makeHome() (*home, error) {
	parent := os.TempDir()
	// The kernel allows 107 bytes for the path of a socket.
	const enoughForSocket = 50
	if len(parent) > enoughForSocket {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "pglab-test-")
	if err != nil {
		return nil, fmt.Errorf("making directory of this test process: %w", err)
	}
	// Servers run as another OS user than root, and find their files here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening directory of this test process: %w", err)
	}
	// The janitor compares paths with what the kernel calls them.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("resolving directory of this test process: %w", err)
	}
	lifeline, err := startJanitor(dir)
	if err != nil {
		return nil, err
	}
	return &home{dir: dir, lifeline: lifeline}, nil
}

// janitor is given the home. It waits for the end of its input, ends every
// lab, by the pid in its lock file DIR/*/lock, and every server whose data directory is DIR/*/data (a postmaster works in its data
// directory, which tells it from a later process with its pid) and removes
// the home.
const janitor = `
cat >/dev/null
works() { [ "$(readlink "/proc/$1/cwd")" = "$2" ]; }
serves() { tr '\0' ' ' <"/proc/$1/cmdline" | grep -qF "serve --data $2 "; }
for file in "$1"/*/lock; do
	[ -r "$file" ] && pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$file") || continue
	lab=${file%/lock}
	serves "$pid" "$lab" 2>/dev/null && kill -TERM "$pid"
	patience=600
	while serves "$pid" "$lab" 2>/dev/null && [ "$patience" -gt 0 ]; do
		sleep 0.1
		patience=$((patience - 1))
	done
done
for file in "$1"/*/data/postmaster.pid; do
	[ -r "$file" ] && read -r pid <"$file" || continue
	data=${file%/postmaster.pid}
	works "$pid" "$data" && kill -QUIT "$pid"
	patience=100
	while works "$pid" "$data" && [ "$patience" -gt 0 ]; do
		sleep 0.05
		patience=$((patience - 1))
	done
	works "$pid" "$data" && kill -KILL "$pid"
done
rm -rf -- "$1"
`

func startJanitor(dir string) (lifeline *os.File, err error) {
	input, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making janitor's pipe: %w", err)
	}
	defer input.Close()
	cmd := exec.Command("/bin/sh", "-c", janitor, "janitor", dir)
	cmd.Stdin = input
	cmd.Dir = "/"
	// A session of its own: an interrupt from the keyboard is not for it.
	// Its output goes nowhere: go test waits for whoever holds the test's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting janitor: %w", err)
	}
	if err := cmd.Process.Release(); err != nil {
		return nil, fmt.Errorf("releasing janitor: %w", err)
	}
	return lifeline, nil
}

// makeDir makes a directory with a short name in the home.
func (h *home) makeDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp(h.dir, prefix+"-")
	if err != nil {
		return "", fmt.Errorf("making directory: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("opening directory: %w", err)
	}
	return dir, nil
}
