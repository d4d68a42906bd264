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

// quota is 2 ms of CPU time in 10 ms, by file: less than one turn on a CPU,
// so that it runs out however busy the machine is. The period goes first.
var quota = []struct{ file, limit string }{
	{"cpu.max", "2000 10000"},
	{"cpu.cfs_period_us", "10000"},
	{"cpu.cfs_quota_us", "2000"},
}

// start runs a script in new groups of every hierarchy of a version that
// counts, under the quota where there is one.
func start(tb testing.TB, version int, script string) *workload {
	tb.Helper()
	work := &workload{cmd: exec.Command("sh", "-c", "read go; "+script)}
	stdin, err := work.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	work.makeGroups(tb, version)
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

func (w *workload) makeGroups(tb testing.TB, version int) {
	tb.Helper()
	for _, mount := range mounts(tb) {
		counts := mount.Version == 2 || slices.ContainsFunc(mount.Controllers, func(name string) bool {
			return slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio"}, name)
		})
		if !counts || mount.Version != version {
			continue
		}
		dir := filepath.Join(mount.Point, fmt.Sprintf("pglab-test-%d-%s", os.Getpid(), strings.ReplaceAll(tb.Name(), "/", "-")))
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		w.dirs = append(w.dirs, dir)
		for _, q := range quota {
			if _, err := os.Stat(dir + "/" + q.file); err == nil {
				put(tb, dir+"/"+q.file, q.limit)
			}
		}
	}
}

func mounts(tb testing.TB) []Mount {
	tb.Helper()
	mounts, err := Host{}.Mounts()
	if err != nil {
		tb.Fatal(err)
	}
	return mounts
}

// versions are those that count CPU time on this machine, the one that can
// limit it first. A v2 hierarchy counts even beside v1.
func versions(tb testing.TB) []int {
	tb.Helper()
	var versions []int
	for _, mount := range mounts(tb) {
		if slices.Contains(mount.Controllers, "cpuacct") {
			versions = append([]int{1}, versions...)
		}
		if mount.Version == 2 {
			versions = append(versions, 2)
		}
	}
	if len(versions) == 0 {
		tb.Fatal("no control groups are mounted")
	}
	return slices.Compact(versions)
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
	deadline := time.Now().Add(60 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 60 s: %s", what)
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
	for i, version := range versions(t) {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			work := start(t, version, "while :; do :; done")
			reader, err := Open(Host{}, work.cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if reader.Version() != version {
				t.Errorf("CPU is counted by v%d, want v%d", reader.Version(), version)
			}
			counters := assertCPUAdvances(t, reader)
			if i == 0 {
				assertControllersCount(t, reader, counters)
				assertQuotaReadsBack(t, work)
			}
			work.end(t)
			if err := reader.Read(counters); !errors.Is(err, ErrVanished) {
				t.Errorf("reading removed groups: %v, want ErrVanished", err)
			}
			if !counters.Empty() {
				t.Errorf("removed groups still read as %v", named(counters))
			}
		})
	}
}

func assertCPUAdvances(t *testing.T, reader *Reader) *Counters {
	t.Helper()
	var counters Counters
	until(t, "CPU time advances", func() bool {
		if err := reader.Read(&counters); err != nil {
			t.Fatal(err)
		}
		return get(t, &counters, CPUUsec) > 200_000
	})
	both := get(t, &counters, UserUsec) + get(t, &counters, SystemUsec)
	if cpu := get(t, &counters, CPUUsec); both < cpu-40_000 || both > cpu+40_000 {
		t.Errorf("user + system is %d us, CPU time %d us", both, cpu)
	}
	return &counters
}

func assertControllersCount(t *testing.T, reader *Reader, counters *Counters) {
	t.Helper()
	until(t, "throttled periods advance", func() bool {
		if err := reader.Read(counters); err != nil {
			t.Fatal(err)
		}
		return get(t, counters, ThrottledPeriods) > 2
	})
	for _, which := range []Counter{Periods, ThrottledUsec, MemoryBytes, AnonBytes, FileBytes, ShmemBytes, OOMKills} {
		get(t, counters, which)
	}
}

func assertQuotaReadsBack(t *testing.T, work *workload) {
	t.Helper()
	groups, err := Host{}.Groups(work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := groups.Limits()
	if err != nil {
		t.Fatal(err)
	}
	if cpus := limits.CPUs(); cpus == nil || *cpus != 0.2 {
		t.Errorf("CPU limit reads back as %v, want 0.2", cpus)
	}
}

func TestOwnGroupIsNotMeasured(t *testing.T) {
	if _, err := Open(Host{}, os.Getpid()); err == nil || !strings.Contains(err.Error(), "pglab itself is in its group") {
		t.Errorf("got %v, want an error that names the shared group", err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	work := start(t, versions(t)[0], "sleep 60")
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
	work := start(b, versions(b)[0], "sleep 600")
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
