package runtimetest

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"pglab/internal/lab"
)

// Harness is what the suite needs to know of an implementation.
type Harness struct {
	Lab string // id of the lab that Open's runtimes work for
	// Open opens a runtime. Every call is over the same state: a second one is
	// what a restarted pglab sees.
	Open func() (lab.Runtime, error)
	// Version is of the servers that the suite makes; "" is the newest.
	Version string
	// Limits reads back from the host what limits a server or task. Nil: the
	// implementation cannot limit here, and says so.
	Limits func(t *testing.T, usage lab.UsageHandle) Limits
	// Kill ends a server as an accident would, from outside of the runtime.
	Kill func(t *testing.T, server lab.Server)
	// Alive reports whether a process that a usage handle named still runs.
	Alive func(usage lab.UsageHandle) bool
	// Leftovers lists whatever of the lab is on the host: processes, groups,
	// containers, files of objects.
	Leftovers func(t *testing.T) []string
}

// Limits are those in force. Zero: none.
type Limits struct {
	CPU    int64 // thousandths of a CPU
	Memory int64 // bytes
}

// patience bounds each step: far beyond what a loaded machine needs.
const patience = 3 * time.Minute

// Exercise runs the suite. Subtests build on each other, since a server
// takes seconds to make.
func Exercise(t *testing.T, h Harness) {
	s := &suite{Harness: h}
	s.open(t)
	t.Run("Probe", s.probe)
	t.Run("Absent", s.absent)
	t.Run("Refused", s.refused)
	t.Run("Server", s.server)
	t.Run("Task", s.task)
	t.Run("Adoption", s.adoption)
	t.Run("Accident", s.accident)
	t.Run("Removal", s.removal)
	t.Run("TenTimes", s.tenTimes)
	t.Run("Shutdown", s.shutdown)
}

type suite struct {
	Harness
	runtime lab.Runtime
}

// open goes on with a runtime of its own.
func (s *suite) open(t *testing.T) {
	t.Helper()
	runtime, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	s.runtime = runtime
}

// main is the server that most subtests share.
func (s *suite) main() lab.ServerSpec {
	spec := s.spec("main")
	spec.Parameters = map[string]string{"work_mem": "7MB", "max_connections": "33", "bench.note": oddText}
	if s.Limits != nil {
		spec.CPU, spec.Memory = 1500, 512<<20
	}
	return spec
}

// oddText is what must reach a server as it is, and no shell on its way.
const oddText = `it's "odd" \ $(touch a-shell-saw-this) ; -- #`

func (s *suite) spec(name string) lab.ServerSpec {
	return lab.ServerSpec{Lab: s.Lab, Name: name, UID: "0d1f2a3b-0000-4000-8000-" + fmt.Sprintf("%012x", crc32.ChecksumIEEE([]byte(name))), Version: s.Version}
}

func (s *suite) probe(t *testing.T) {
	probe := s.runtime.Probe(ctx(t))
	if probe.Health != lab.Healthy || probe.Message == "" {
		t.Fatalf("probe: %+v", probe)
	}
	for _, capability := range []string{"cpu_limit", "memory_limit", "usage"} {
		if _, told := probe.Capabilities[capability]; !told {
			t.Errorf("no word on %s in %v", capability, probe.Capabilities)
		}
	}
}

func (s *suite) shutdown(t *testing.T) {
	server := s.ensure(t, s.spec("last"))
	task := s.start(t, server.Ref, "last", "-n", "-T", "600", "-f", "select.sql")
	if err := s.runtime.Shutdown(ctx(t)); err != nil {
		t.Fatal(err)
	}
	now, err := s.runtime.InspectServer(ctx(t), server.Ref)
	switch {
	case err != nil:
		t.Errorf("the server is forgotten: %v", err)
	case now.Phase != lab.ServerStopped && !s.Alive(server.Usage):
		t.Errorf("the server is gone and said to be %s", now.Phase)
	}
	if now.Phase == lab.ServerStopped && (s.Alive(server.Usage) || s.Alive(task.Usage)) {
		t.Error("something outlived the shutdown")
	}
	s.open(t)
	if now.Phase == lab.ServerStopped {
		again, err := s.runtime.EnsureServer(ctx(t), s.spec("last"), func(string) {})
		if err != nil || again.Phase != lab.ServerReady || again.Message != "" {
			t.Errorf("started after a shutdown: %+v, %v", again, err)
		}
	}
	s.removeAll(t)
	if err := s.runtime.Shutdown(ctx(t)); err != nil {
		t.Error(err)
	}
	if left := s.Leftovers(t); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// removeAll removes every object of the lab.
func (s *suite) removeAll(t *testing.T) {
	t.Helper()
	objects, err := s.runtime.List(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(objects, func(a, b lab.Object) int { // tasks first
		return strings.Compare(fmt.Sprint(a.Task == nil), fmt.Sprint(b.Task == nil))
	})
	for _, object := range objects {
		if object.Task != nil {
			err = s.runtime.RemoveTask(ctx(t), *object.Task)
		} else {
			err = s.runtime.RemoveServer(ctx(t), *object.Server)
		}
		if err != nil {
			t.Errorf("removing %+v: %v", object, err)
		}
	}
}

// ctx is a context that ends with the suite's patience.
func ctx(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
