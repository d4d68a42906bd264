package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// workload is a shell script in groups of its own, real ones of this machine.
type workload struct {
	cmd  *exec.Cmd
	dirs []string
}

// start runs a script in new groups of every hierarchy that counts. Its CPU
// quota is 30 ms in 100 ms.
func start(tb testing.TB, script string) *workload {
	tb.Helper()
	work := &workload{cmd: exec.Command("sh", "-c", "read go; "+script)}
	stdin, err := work.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	work.makeGroups(tb)
	if err := work.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { work.end(tb) })
	for _, dir := range work.dirs {
		put(tb, dir+"/cgroup.procs", strconv.Itoa(work.cmd.Process.Pid))
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		tb.Fatal(err)
	}
	return work
}

func (w *workload) makeGroups(tb testing.TB) {
	tb.Helper()
	mounts, err := Host{}.Mounts()
	if err != nil {
		tb.Fatal(err)
	}
	v1 := slices.ContainsFunc(mounts, func(mount Mount) bool { return slices.Contains(mount.Controllers, "cpuacct") })
	for _, mount := range mounts {
		counts := slices.ContainsFunc(mount.Controllers, func(name string) bool {
			return slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio"}, name)
		})
		if !counts && (v1 || mount.Version == 1) {
			continue
		}
		dir := filepath.Join(mount.Point, fmt.Sprintf("pglab-test-%d-%s", os.Getpid(), strings.ReplaceAll(tb.Name(), "/", "-")))
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		w.dirs = append(w.dirs, dir)
		switch {
		case mount.Version == 2:
			put(tb, dir+"/cpu.max", "30000 100000")
		case slices.Contains(mount.Controllers, "cpu"):
			put(tb, dir+"/cpu.cfs_quota_us", "30000")
		}
	}
}

// end kills everything inside and removes the groups.
func (w *workload) end(tb testing.TB) {
	until(tb, "the groups are empty and removed", func() bool {
		removed := true
		for _, dir := range w.dirs {
			pids, _ := os.ReadFile(dir + "/cgroup.procs")
			for _, pid := range strings.Fields(string(pids)) {
				if n, err := strconv.Atoi(pid); err == nil {
					if process, err := os.FindProcess(n); err == nil {
						_ = process.Kill()
					}
				}
			}
			err := os.Remove(dir)
			removed = removed && (err == nil || os.IsNotExist(err))
		}
		// Wait reaps the shell, which would keep its groups busy.
		if w.cmd.Process != nil && w.cmd.ProcessState == nil {
			_ = w.cmd.Wait()
		}
		return removed
	})
}

func put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func get(tb testing.TB, counters *Counters, which Counter) int64 {
	tb.Helper()
	n, measured := counters.Get(which)
	if !measured {
		tb.Fatalf("%s is not measured", which)
	}
	return n
}

func TestReaderOnThisMachine(t *testing.T) {
	work := start(t, "while :; do :; done")
	reader, err := Open(Host{}, work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var counters Counters
	until(t, "CPU time and throttled periods advance", func() bool {
		if err := reader.Read(&counters); err != nil {
			t.Fatal(err)
		}
		return get(t, &counters, CPUUsec) > 200_000 && get(t, &counters, ThrottledPeriods) > 2
	})
	for _, which := range []Counter{UserUsec, SystemUsec, Periods, ThrottledUsec, MemoryBytes, AnonBytes, FileBytes, ShmemBytes, OOMKills} {
		get(t, &counters, which)
	}
	both := get(t, &counters, UserUsec) + get(t, &counters, SystemUsec)
	if cpu := get(t, &counters, CPUUsec); both < cpu-40_000 || both > cpu+40_000 {
		t.Errorf("user + system is %d us, CPU time %d us", both, cpu)
	}

	groups, err := Host{}.Groups(work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := groups.Limits()
	if err != nil {
		t.Fatal(err)
	}
	if cpus := limits.CPUs(); cpus == nil || *cpus != 0.3 {
		t.Errorf("CPU limit reads back as %v, want 0.3", cpus)
	}

	work.end(t)
	if err := reader.Read(&counters); !errors.Is(err, ErrVanished) {
		t.Errorf("reading removed groups: %v, want ErrVanished", err)
	}
	if !counters.Empty() {
		t.Errorf("removed groups still read as %v", named(&counters))
	}
}

func TestOwnGroupIsNotMeasured(t *testing.T) {
	if _, err := Open(Host{}, os.Getpid()); err == nil || !strings.Contains(err.Error(), "pglab itself is in its group") {
		t.Errorf("got %v, want an error that names the shared group", err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	work := start(t, "sleep 60")
	reader, err := Open(Host{}, work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var counters Counters
	if allocations := testing.AllocsPerRun(50, func() { _ = reader.Read(&counters) }); allocations > 0 {
		t.Errorf("%v allocations per reading, want none", allocations)
	}
}

func BenchmarkReader(b *testing.B) {
	work := start(b, "sleep 600")
	reader, err := Open(Host{}, work.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	b.ReportAllocs()
	var counters Counters
	for b.Loop() {
		if err := reader.Read(&counters); err != nil {
			b.Fatal(err)
		}
	}
}
