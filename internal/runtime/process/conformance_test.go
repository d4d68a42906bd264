package process

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
	"pglab/internal/runtime/runtimetest"
)

func TestConformance(t *testing.T) {
	runtimetest.Exercise(t, harness(t, testConfig(t, testDir(t))))
}

// harness tells the suite of a runtime with this configuration.
func harness(t *testing.T, config Config) runtimetest.Harness {
	h := runtimetest.Harness{
		Lab:       config.Lab,
		Version:   "15",
		Open:      func() (lab.Runtime, error) { return open(t, config), nil },
		Kill:      func(t *testing.T, server lab.Server) { kill(t, server.Usage.PID) },
		Alive:     func(usage lab.UsageHandle) bool { return dirExists("/proc/" + strconv.Itoa(usage.PID)) },
		Leftovers: func(t *testing.T) []string { return leftovers(t, config) },
	}
	if os.Geteuid() == 0 {
		h.Limits = readLimits
	}
	return h
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// readLimits reads limits where the kernel keeps them.
func readLimits(t *testing.T, usage lab.UsageHandle) runtimetest.Limits {
	t.Helper()
	groups, err := cgroup.Host{}.Groups(usage.PID)
	if err != nil {
		t.Fatal(err)
	}
	found, err := groups.Limits()
	if err != nil {
		t.Fatal(err)
	}
	var limits runtimetest.Limits
	if cpus := found.CPUs(); cpus != nil {
		limits.CPU = int64(*cpus*1000 + 0.5)
	}
	if found.MemoryBytes != nil {
		limits.Memory = *found.MemoryBytes
	}
	return limits
}

// leftovers lists processes, groups and files of objects.
func leftovers(t *testing.T, config Config) []string {
	t.Helper()
	var left []string
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		// A process that is ending has no command line any more.
		command, err := os.ReadFile(process + "/cmdline")
		if err == nil && bytes.Contains(command, []byte(config.Dir)) {
			left = append(left, fmt.Sprintf("%s: %q", process, command))
		}
	}
	for _, dir := range groupsNamed(t, "pglab-"+config.Lab) {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if entry.IsDir() {
				left = append(left, filepath.Join(dir, entry.Name()))
			}
		}
	}
	for _, dir := range []string{"servers", "tasks", "s"} {
		entries, _ := os.ReadDir(filepath.Join(config.Dir, dir))
		for _, entry := range entries {
			left = append(left, filepath.Join(dir, entry.Name()))
		}
	}
	return left
}

// groupsNamed finds every cgroup of that name, wherever.
func groupsNamed(t *testing.T, name string) []string {
	t.Helper()
	mounts, err := cgroup.Host{}.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, mount := range mounts {
		_ = filepath.WalkDir(mount.Point, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && strings.HasSuffix(path, "/"+name) {
				found = append(found, path)
			}
			return nil // groups of others come and go
		})
	}
	return found
}
