package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// testSpec is a small server of Postgres 15.
func testSpec(config Config, name string) lab.ServerSpec {
	return lab.ServerSpec{Lab: config.Lab, Name: name, UID: "uid-of-" + name, Version: "15"}
}

func silent(string) {}

func ensure(t *testing.T, runtime *Runtime, spec lab.ServerSpec) lab.Server {
	t.Helper()
	server, err := runtime.EnsureServer(soon(t), spec, silent)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// TestMajors makes a server of each other major and benchmarks it; what
// initdb chose is the same for all.
func TestMajors(t *testing.T) {
	config := testConfig(t, testDir(t))
	runtime := open(t, config)
	for _, major := range []string{"14", "16", "17", "18"} {
		t.Run(major, func(t *testing.T) {
			spec := testSpec(config, "pg"+major)
			spec.Version = major
			server := ensure(t, runtime, spec)
			if !strings.HasPrefix(server.Version, major+".") {
				t.Errorf("version %q", server.Version)
			}
			const choices = `SELECT current_setting('data_checksums') || ' ' || current_setting('server_encoding') || ' ' || datcollate || ' ' || datctype
				|| ' ' || current_setting('TimeZone') FROM pg_database WHERE datname = current_database()`
			if got, want := query(t, runtime, server.Ref, choices), "on UTF8 C.UTF-8 C.UTF-8 UTC"; got != want && got != strings.Replace(want, "UTC", "Etc/UTC", 1) {
				t.Errorf("choices of initdb: %s", got)
			}
			task, err := runtime.StartTask(soon(t), testTask(config, server.Ref, "run-"+major, "-n", "-t", "10", "-f", "one.sql"))
			if err != nil {
				t.Fatal(err)
			}
			if ended, err := runtime.WaitTask(soon(t), task.Ref); err != nil || ended.ExitCode != 0 {
				t.Errorf("task: %+v, %v", ended, err)
			}
		})
	}
}

// TestLife is one server through what happens to servers.
func TestLife(t *testing.T) {
	config := testConfig(t, testDir(t))
	spec := testSpec(config, "life")
	if os.Geteuid() == 0 {
		spec.CPU = 1000
	}
	l := life{config: config, spec: spec, runtime: open(t, config)}
	t.Run("ensured at the same time it is one server", l.ensuredAtTheSameTime)
	t.Run("found without its identity", l.foundWithoutIdentity)
	t.Run("after a restart of the host it says so", l.hostRestarted)
	t.Run("told to stop it says so", l.toldToStop)
	t.Run("a postmaster outside of its group is replaced", l.outsideOfGroup)
	t.Run("a task whose shim was killed is lost and can be stopped", l.lostTask)
	t.Run("a task that answers nothing is gone after stop", l.frozenTask)
	t.Run("shutdown leaves no group", l.shutdown)
}

type life struct {
	config  Config
	spec    lab.ServerSpec
	runtime *Runtime
}

func (l *life) record(t *testing.T) serverRecord {
	t.Helper()
	record, err := l.runtime.loadServer(l.spec.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func (l *life) ensuredAtTheSameTime(t *testing.T) {
	const callers = 4
	servers := make([]lab.Server, callers)
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { servers[i], errs[i] = l.runtime.EnsureServer(soon(t), l.spec, silent) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, server := range servers[1:] {
		if diff := cmp.Diff(servers[0], server); diff != "" {
			t.Error(diff)
		}
	}
}

func (l *life) foundWithoutIdentity(t *testing.T) {
	record := l.record(t)
	pid := record.Postmaster.PID
	record.Postmaster = postgres.Identity{}
	if err := l.runtime.saveServer(record); err != nil {
		t.Fatal(err)
	}
	if found := ensure(t, l.runtime, l.spec); found.Usage.PID != pid || found.Message != "" {
		t.Errorf("found %+v, want process %d", found, pid)
	}
}

func (l *life) hostRestarted(t *testing.T) {
	record := l.record(t)
	record.Postmaster.Boot = "0f0f0f0f-0000-4000-8000-000000000000"
	if server := l.runtime.describe(record); server.Phase != lab.ServerStopped || server.Message != "the host was restarted" {
		t.Errorf("%+v", server)
	}
}

func (l *life) toldToStop(t *testing.T) {
	postmaster := l.record(t).Postmaster
	if err := postmaster.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := postmaster.Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, l.runtime, l.spec); !strings.Contains(again.Message, "received fast shutdown request") {
		t.Errorf("message %q", again.Message)
	}
}

func (l *life) outsideOfGroup(t *testing.T) {
	if l.spec.CPU == 0 {
		t.Skip("there are no groups to be outside of")
	}
	record := l.record(t)
	if _, err := postgres.StopPostmaster(soon(t), record.Postmaster); err != nil {
		t.Fatal(err)
	}
	with, err := postgres.Probe(soon(t), record.Bindir, l.config.Account)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := postgres.Start(postgres.Command{
		Argv: postgres.PostmasterArgv(with, l.runtime.dataDir(record), record.SocketDir, nil),
		Env:  postgres.PostmasterEnv(), As: l.config.Account,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.WaitReady(soon(t), l.runtime.dataDir(record)); err != nil {
		t.Fatal(err)
	}
	again := ensure(t, l.runtime, l.spec)
	if outside.Alive() || again.Usage.PID == outside.PID {
		t.Error("the postmaster without limits runs on")
	}
	if got := readLimits(t, again.Usage); got.CPU != l.spec.CPU {
		t.Errorf("limits: %+v", got)
	}
}

func (l *life) shutdown(t *testing.T) {
	if err := l.runtime.Shutdown(soon(t)); err != nil {
		t.Fatal(err)
	}
	if left := groupsNamed(t, "pglab-"+l.config.Lab); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := l.runtime.EnsureServer(soon(t), l.spec, silent); !errors.Is(err, lab.ErrUnavailable) {
		t.Errorf("after the shutdown: %v", err)
	}
}

func TestServerThatDoesNotFitIntoItsMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can limit memory")
	}
	config := testConfig(t, testDir(t))
	runtime := open(t, config)
	spec := testSpec(config, "tiny")
	spec.Memory = 2 << 20
	_, err := runtime.EnsureServer(soon(t), spec, silent)
	if !errors.Is(err, lab.ErrInvalidSpec) || !strings.Contains(err.Error(), "memory limit of 2 MiB") {
		t.Errorf("err = %v", err)
	}
}

func TestFullDiskIsNotTheRowsFault(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := testDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=711"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	config := testConfig(t, dir)
	runtime := open(t, config)
	spec := testSpec(config, "full")
	spec.Initdb = map[string]string{"wal-segsize": "16"}
	_, err := runtime.EnsureServer(soon(t), spec, silent)
	if err == nil || lab.Permanent(err) || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("err = %v", err)
	}
	if err := runtime.RemoveServer(soon(t), spec.Ref()); err != nil {
		t.Error(err)
	}
}

func TestSocketOfALongDirectory(t *testing.T) {
	dir := filepath.Join(testDir(t), strings.Repeat("long", 25))
	config := testConfig(t, dir)
	runtime := open(t, config)
	made := ensure(t, runtime, testSpec(config, "long"))
	record, err := runtime.loadServer(made.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(record.SocketDir, dir) {
		t.Errorf("the socket is in %s", record.SocketDir)
	}
	if err := runtime.RemoveServer(soon(t), made.Ref); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Shutdown(soon(t)); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Dir(record.SocketDir)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDirectoryThatTheAccountCannotEnter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("there is no other account")
	}
	outer := testDir(t)
	if err := os.Chmod(outer, 0o700); err != nil {
		t.Fatal(err)
	}
	config := testConfig(t, filepath.Join(outer, "lab"))
	runtime := open(t, config)
	_, err := runtime.EnsureServer(soon(t), testSpec(config, "closed"), silent)
	if !errors.Is(err, lab.ErrUnsupported) || !strings.Contains(err.Error(), "chmod o+x "+outer) {
		t.Errorf("err = %v", err)
	}
	if probe := runtime.Probe(soon(t)); probe.Health != lab.Unhealthy || !strings.Contains(probe.Message, "chmod o+x "+outer) {
		t.Errorf("probe: %+v", probe)
	}
}

func TestWhatThisRuntimeCannotDoIsSaid(t *testing.T) {
	config := testConfig(t, testDir(t))
	runtime := open(t, config)
	for name, test := range map[string]struct {
		change func(*lab.ServerSpec)
		kind   error
		want   string
	}{
		"image":                {func(s *lab.ServerSpec) { s.Image = "postgres:16" }, lab.ErrUnsupported, "leave image NULL"},
		"storage":              {func(s *lab.ServerSpec) { s.Storage = 1 << 30 }, lab.ErrUnsupported, "leave storage NULL"},
		"bindir of nothing":    {func(s *lab.ServerSpec) { s.Bindir = "/etc" }, lab.ErrInvalidSpec, "no Postgres programs in /etc"},
		"bindir not absolute":  {func(s *lab.ServerSpec) { s.Bindir = "bin" }, lab.ErrInvalidSpec, "absolute"},
		"bindir, other major":  {func(s *lab.ServerSpec) { s.Bindir, s.Version = "/usr/lib/postgresql/15/bin", "16" }, lab.ErrInvalidSpec, "version asks for 16"},
		"cpuset in words":      {func(s *lab.ServerSpec) { s.Cpuset = "first" }, lab.ErrInvalidSpec, "cpuset"},
		"locale of nowhere":    {func(s *lab.ServerSpec) { s.Initdb = map[string]string{"locale": "xx_XX"} }, lab.ErrInvalidSpec, "invalid locale name"},
		"CPU that is not here": {func(s *lab.ServerSpec) { s.Cpuset = "4095" }, lab.ErrInvalidSpec, "the CPUs here are"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && strings.Contains(test.want, "CPU") {
				t.Skip("only root has cpusets")
			}
			spec := testSpec(config, "cannot")
			test.change(&spec)
			_, err := runtime.EnsureServer(soon(t), spec, silent)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v", err)
			}
			if err := runtime.RemoveServer(soon(t), spec.Ref()); err != nil {
				t.Error(err)
			}
		})
	}
}
