package runtimetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

// adoption goes on with a second runtime, as after a restart of pglab.
func (s *suite) adoption(t *testing.T) {
	before, err := s.runtime.InspectServer(ctx(t), s.main().Ref())
	if err != nil {
		t.Fatal(err)
	}
	running := s.start(t, before.Ref, "adopted", "-n", "-T", "3", "-f", "select.sql")
	endless := s.start(t, before.Ref, "endless", "-n", "-T", "600", "-f", "select.sql")

	s.open(t)
	t.Run("the server is the same", func(t *testing.T) {
		after, err := s.runtime.EnsureServer(ctx(t), s.main(), func(words string) { t.Errorf("did something: %s", words) })
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	t.Run("a task ends as if nothing had been", func(t *testing.T) {
		ended, err := s.runtime.WaitTask(ctx(t), running.Ref)
		if err != nil || ended.Running || ended.ExitCode != 0 || !ended.StartedAt.Equal(running.StartedAt) || ended.ExitedAt.IsZero() {
			t.Errorf("ended %+v, %v", ended, err)
		}
		if out := s.output(t, running.Ref, lab.Stdout); !strings.Contains(out, "tps = ") {
			t.Errorf("stdout: %q", out)
		}
	})
	t.Run("a task can be stopped", func(t *testing.T) {
		if err := s.runtime.StopTask(ctx(t), endless.Ref); err != nil {
			t.Fatal(err)
		}
		if s.Alive(endless.Usage) {
			t.Error("it runs on")
		}
	})
}

// accident kills the server: it is seen, explained and started again, with its data.
func (s *suite) accident(t *testing.T) {
	ref := s.main().Ref()
	s.do(t, ref, lab.BenchUser, "CREATE TABLE kept AS SELECT 'kept' AS what")
	t.Run("of an adopted server", func(t *testing.T) { s.killOnce(t, ref, "") })
	// The server runs as a child of this very process by now: more is known of its end.
	t.Run("of a server of our own", func(t *testing.T) { s.killOnce(t, ref, "killed") })
}

func (s *suite) killOnce(t *testing.T, ref lab.ServerRef, reason string) {
	watch, stop := context.WithCancel(ctx(t))
	defer stop()
	hints := s.runtime.Watch(watch)
	before, err := s.runtime.InspectServer(ctx(t), ref)
	if err != nil || before.Phase != lab.ServerReady {
		t.Fatalf("before: %+v, %v", before, err)
	}
	s.Kill(t, before)
	var seen lab.Server
	eventually(t, "the end is seen", func() bool {
		select {
		case <-hints:
		case <-time.After(time.Second):
		}
		seen, err = s.runtime.InspectServer(ctx(t), ref)
		return err == nil && seen.Phase == lab.ServerStopped
	})
	if seen.Message == "" || !strings.Contains(seen.Message, reason) {
		t.Errorf("explained as %q, want %q in it", seen.Message, reason)
	}
	after, err := s.runtime.EnsureServer(ctx(t), s.main(), func(string) {})
	if err != nil || after.Phase != lab.ServerReady || after.StartedAt.Equal(before.StartedAt) {
		t.Fatalf("started again: %+v, %v", after, err)
	}
	if !strings.Contains(after.Message, reason) || after.Message == "" {
		t.Errorf("message after the start: %q", after.Message)
	}
	if got := s.ask(t, ref, lab.BenchUser, "SELECT what FROM kept"); got != "kept" {
		t.Errorf("data: %q", got)
	}
	if s.Limits != nil {
		if diff := cmp.Diff(Limits{CPU: s.main().CPU, Memory: s.main().Memory}, s.Limits(t, after.Usage)); diff != "" {
			t.Error(diff)
		}
	}
	stop()
	for range hints { // until it is closed
	}
}
