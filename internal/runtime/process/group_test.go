package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/runtime/runtimetest"
	"pglab/internal/task"
)

// forker keeps making processes that leave their session and their parent.
const forker = `while :; do (setsid sleep 100 &); sleep 0.01; done`

// TestKillMissesNobody kills a group in which new processes keep appearing.
func TestKillMissesNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make groups")
	}
	for name, prepare := range map[string]func(labID string) *ground{
		"as this host has it": func(labID string) *ground { return prepareGround(cgroup.Host{}, labID) },
		"without a freezer": func(labID string) *ground {
			g := prepareGround(cgroup.Host{}, labID)
			_ = os.Remove(g.dirs["freezer"])
			delete(g.dirs, "freezer")
			return g
		},
		"on v2": func(labID string) *ground {
			host := cgroup.Host{}
			own, err := host.Groups(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			return prepareV2(host, own, "pglab-"+labID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := prepare("kill-" + shortHash(name) + "-" + strconv.Itoa(os.Getpid()))
			if g.version == 0 {
				t.Fatalf("no groups: %s", g.trouble)
			}
			group, err := g.makeGroup(soon(t), "victim", limits{})
			if err != nil {
				t.Fatal(err)
			}
			child := enter(t, group, forker)
			eventually(t, "there are many", func() bool {
				pids, err := group.procs()
				return err == nil && len(pids) > 5 && group.holds(child.PID)
			})
			if err := group.remove(soon(t)); err != nil {
				t.Error(err)
			}
			<-child.Done()
			if err := g.remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

// enter runs a shell script in a group.
func enter(t *testing.T, group group, script string) *postgres.Child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launch := task.Launch{Groups: group.distinct(), Argv: []string{"/bin/sh", "-c", script}}
	child, err := postgres.Start(postgres.Command{Argv: launch.EnterArgv(exe), Env: postgres.PostmasterEnv()})
	if err != nil {
		t.Fatal(err)
	}
	return child
}

func TestGroupOfAnEarlierLifeIsEmptiedFirst(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make groups")
	}
	g := prepareGround(cgroup.Host{}, "again-"+strconv.Itoa(os.Getpid()))
	first, err := g.makeGroup(soon(t), "same", limits{cpu: 500})
	if err != nil {
		t.Fatal(err)
	}
	child := enter(t, first, "sleep 100")
	eventually(t, "it is in its group", func() bool { return first.holds(child.PID) })
	second, err := g.makeGroup(soon(t), "same", limits{cpu: 700, memory: 64<<20 + 1})
	if err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	child = enter(t, second, "sleep 100")
	want := runtimetest.Limits{CPU: 700, Memory: 64 << 20} // whole pages
	eventually(t, "the next one is under its limits", func() bool {
		return readLimits(t, lab.UsageHandle{PID: child.PID}) == want
	})
	if err := errors.Join(second.remove(soon(t)), g.remove()); err != nil {
		t.Error(err)
	}
	<-child.Done()
}

func TestGroupOnEarlierGroundIsRemovedWithItsParent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make groups")
	}
	id := strconv.Itoa(os.Getpid())
	earlier, now := prepareGround(cgroup.Host{}, "earlier-"+id), prepareGround(cgroup.Host{}, "now-"+id)
	left, err := earlier.makeGroup(soon(t), "left", limits{cpuset: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := now.removeGroup(soon(t), left); err != nil {
		t.Error(err)
	}
	for _, dir := range earlier.distinct() {
		if dirExists(dir) {
			t.Errorf("left behind: %s", dir)
		}
	}
	if err := now.remove(); err != nil {
		t.Error(err)
	}
}

func TestKillOfNothingIsSuccess(t *testing.T) {
	gone := group{Version: 1, Dirs: map[string]string{"cpu": "/nowhere/a", "freezer": "/nowhere/b"}}
	if err := errors.Join(gone.remove(t.Context()), group{}.remove(t.Context())); err != nil {
		t.Error(err)
	}
}

// tree writes a host's files below a directory.
func tree(t *testing.T, files map[string]string) cgroup.Host {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, strings.ReplaceAll(path, "PID", strconv.Itoa(os.Getpid())))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cgroup.Host{Root: root}
}

const unified = "30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

// delegated is a service's own group on a host with v2 alone: not the top,
// with two processes in it.
func delegated() map[string]string {
	const base = "/sys/fs/cgroup/system.slice/pglab.service/"
	return map[string]string{
		"/proc/self/mountinfo":                        unified,
		"/proc/PID/cgroup":                            "0::/system.slice/pglab.service\n",
		"/sys/fs/cgroup/cgroup.type":                  "domain\n", // a namespace's root
		base + "cgroup.type":                          "domain\n",
		base + "cgroup.procs":                         "41\n42\n",
		base + "cgroup.controllers":                   "cpuset cpu io memory hugetlb pids\n",
		base + "cgroup.subtree_control":               "",
		base + gatewayGroup + "/cgroup.procs":         "",
		base + "pglab-x/cgroup.controllers":           "cpu memory pids\n",
		base + "pglab-x/cgroup.subtree_control":       "",
		base + "pglab-x/server/cpu.max":               "max 100000\n",
		base + "pglab-x/server/cpu.max.burst":         "5\n",
		base + "pglab-x/server/memory.max":            "max\n",
		base + "pglab-x/server/memory.swap.max":       "max\n",
		base + "pglab-x/server/memory.events":         "low 0\noom 1\noom_kill 2\n",
		base + "pglab-x/server/cpuset.cpus":           "\n",
		base + "pglab-x/cpuset.cpus.effective":        "0-3\n",
		base + "pglab-x/server/cpuset.cpus.effective": "0-1\n",
	}
}

func TestDelegatedGroupOnV2(t *testing.T) {
	host := tree(t, delegated())
	g := prepareGround(host, "x")
	base := filepath.Join(host.Root, "/sys/fs/cgroup/system.slice/pglab.service")
	if g.version != 2 || g.dirs[""] != filepath.Join(base, "pglab-x") {
		t.Fatalf("ground %+v", g)
	}
	for controller, want := range map[string]bool{"cpu": true, "memory": true, "cpuset": false, "io": false} {
		if g.has(controller) != want {
			t.Errorf("has(%s) = %v", controller, !want)
		}
	}
	if got := readText(t, filepath.Join(base, gatewayGroup, "cgroup.procs")); !strings.Contains(got, "42") {
		t.Errorf("moved aside: %q", got)
	}
	if err := g.check(limits{cpuset: "0"}); !errors.Is(err, lab.ErrUnsupported) || !strings.Contains(err.Error(), "leave cpuset NULL") {
		t.Errorf("check: %v", err)
	}
	server := group{Version: 2, Dirs: map[string]string{"": base + "/pglab-x/server", "cpu": base + "/pglab-x/server", "memory": base + "/pglab-x/server", "cpuset": base + "/pglab-x/server"}}
	if err := server.limit(limits{cpu: 1500, memory: 256 << 20, cpuset: "0,1"}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range []string{"cpu.max", "cpu.max.burst", "memory.max", "memory.swap.max", "cpuset.cpus"} {
		got[file] = readText(t, filepath.Join(base, "pglab-x/server", file))
	}
	// The files are plain here: a value that is shorter leaves the rest of the old one.
	if !strings.HasPrefix(got["cpu.max"], "150000 100000") || got["cpu.max.burst"][0] != '0' || !strings.HasPrefix(got["memory.max"], "268435456") ||
		got["memory.swap.max"][0] != '0' || !strings.HasPrefix(got["cpuset.cpus"], "0,1") {
		t.Errorf("written: %q", got)
	}
	if !server.oomKilled() {
		t.Error("the OOM kill is not seen")
	}
	if err := server.limit(limits{cpuset: "2-3"}); !errors.Is(err, lab.ErrInvalidSpec) || !strings.Contains(err.Error(), "0-3") {
		t.Errorf("CPUs that were not granted: %v", err)
	}
}

func TestGroundThatIsNotOurs(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing mounted": {map[string]string{"/proc/self/mountinfo": "", "/proc/PID/cgroup": "0::/\n"}, "no cgroup hierarchy"},
		"group not visible": {map[string]string{
			"/proc/self/mountinfo": unified, "/proc/PID/cgroup": "0::/elsewhere\n", "/sys/fs/cgroup/cgroup.type": "domain\n",
		}, "no cgroup hierarchy"},
		"v1 not mounted here": {map[string]string{"/proc/self/mountinfo": unified, "/proc/PID/cgroup": "1:cpu,cpuacct:/\n"}, "not mounted"},
	} {
		t.Run(name, func(t *testing.T) {
			g := prepareGround(tree(t, test.files), "x")
			if g.version != 0 || !strings.Contains(g.trouble, test.want) {
				t.Errorf("ground %+v", g)
			}
			err := g.check(limits{cpu: 100})
			if !errors.Is(err, lab.ErrUnsupported) || !strings.Contains(err.Error(), "leave cpu NULL") {
				t.Errorf("check: %v", err)
			}
			if made, err := g.makeGroup(t.Context(), "server", limits{}); err != nil || made.exists() {
				t.Errorf("without limits: %+v, %v", made, err)
			}
		})
	}
}

func TestListCPUs(t *testing.T) {
	for text, want := range map[string][]int{"0-2,5": {0, 1, 2, 5}, "3,1-2,2\n": {1, 2, 3}, "": nil} {
		if diff := cmp.Diff(want, listCPUs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	var l locks
	unlock, err := l.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.lock(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	other, err := l.lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	again, err := l.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func readText(t *testing.T, path string) string {
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
