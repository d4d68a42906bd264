package runtimetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

// scripts are in the working directory of every task.
var scripts = map[string]string{
	"select.sql": "SELECT 1;\n",
	"fail.sql":   "SELECT 1/0;\n",
	"odd.sql":    "INSERT INTO odd VALUES ('" + strings.ReplaceAll(oddText, "'", "''") + "');\n",
}

// taskSpec is a task on a server.
func (s *suite) taskSpec(server lab.ServerRef, run string, args ...string) lab.TaskSpec {
	return lab.TaskSpec{
		Lab: s.Lab, Server: server, Args: args, Files: scripts,
		Ref: lab.TaskRef{Run: run, Attempt: 1, Phase: lab.TaskBench},
	}
}

// start starts a task or fails the test.
func (s *suite) start(t *testing.T, server lab.ServerRef, run string, args ...string) lab.Task {
	t.Helper()
	task, err := s.runtime.StartTask(ctx(t), s.taskSpec(server, run, args...))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func (s *suite) task(t *testing.T) {
	server := s.main().Ref()
	t.Run("runs to its end", func(t *testing.T) {
		spec := s.taskSpec(server, "whole", "-n", "-c", "2", "-T", "2", "-P", "1", "-f", "select.sql")
		if s.Limits != nil {
			spec.CPU = 700
		}
		before := time.Now()
		started, err := s.runtime.StartTask(ctx(t), spec)
		if err != nil {
			t.Fatal(err)
		}
		if !started.Running || started.StartedAt.IsZero() || started.Client == "" || !started.ExitedAt.IsZero() {
			t.Errorf("started %+v", started)
		}
		if s.Limits != nil {
			if diff := cmp.Diff(Limits{CPU: spec.CPU}, s.Limits(t, started.Usage)); diff != "" {
				t.Error(diff)
			}
		}
		if again, err := s.runtime.StartTask(ctx(t), spec); err != nil || !again.StartedAt.Equal(started.StartedAt) {
			t.Errorf("started again: %+v, %v", again, err)
		}
		ended, err := s.runtime.WaitTask(ctx(t), spec.Ref)
		if err != nil || ended.Running || ended.ExitCode != 0 || ended.Signal != "" || ended.Message != "" || ended.OOMKilled {
			t.Errorf("ended %+v, %v", ended, err)
		}
		if ran := ended.ExitedAt.Sub(ended.StartedAt); ran < 2*time.Second || ended.StartedAt.Before(before.Add(-time.Second)) || ended.ExitedAt.After(time.Now().Add(time.Second)) {
			t.Errorf("ran from %v to %v", ended.StartedAt, ended.ExitedAt)
		}
		if out := s.output(t, spec.Ref, lab.Stdout); !strings.Contains(out, "tps = ") {
			t.Errorf("stdout: %q", out)
		}
		if progress := s.output(t, spec.Ref, lab.Stderr); !strings.Contains(progress, "progress: ") {
			t.Errorf("stderr: %q", progress)
		}
		if !s.lists(t, func(object lab.Object) bool { return object.Task != nil && *object.Task == spec.Ref }) {
			t.Error("it is not listed")
		}
		if err := s.runtime.RemoveTask(ctx(t), spec.Ref); err != nil {
			t.Error(err)
		}
		if _, err := s.runtime.InspectTask(ctx(t), spec.Ref); !errors.Is(err, lab.ErrNotFound) {
			t.Errorf("removed, and inspected: %v", err)
		}
	})
	t.Run("fails with its own words", func(t *testing.T) {
		task := s.start(t, server, "failing", "-n", "-t", "5", "-f", "fail.sql")
		ended, err := s.runtime.WaitTask(ctx(t), task.Ref)
		if err != nil || ended.Running || ended.ExitCode == 0 {
			t.Errorf("ended %+v, %v", ended, err)
		}
		if said := s.output(t, task.Ref, lab.Stderr); !strings.Contains(said, "division by zero") {
			t.Errorf("stderr: %q", said)
		}
	})
	t.Run("passes text on as it is", func(t *testing.T) {
		s.do(t, server, lab.BenchUser, "CREATE TABLE odd (text text)")
		task := s.start(t, server, "odd", "-n", "-t", "1", "-f", "odd.sql")
		if ended, err := s.runtime.WaitTask(ctx(t), task.Ref); err != nil || ended.ExitCode != 0 {
			t.Fatalf("ended %+v, %v: %s", ended, err, s.output(t, task.Ref, lab.Stderr))
		}
		if got := s.ask(t, server, lab.BenchUser, "SELECT string_agg(text, '') FROM odd"); got != oddText {
			t.Errorf("arrived: %q", got)
		}
	})
	t.Run("two at a time, one stopped", func(t *testing.T) {
		stopped := s.start(t, server, "stopped", "-n", "-c", "2", "-T", "600", "-f", "select.sql")
		other := s.start(t, server, "other", "-n", "-T", "2", "-f", "select.sql")
		if err := s.runtime.StopTask(ctx(t), stopped.Ref); err != nil {
			t.Fatal(err)
		}
		if s.Alive(stopped.Usage) {
			t.Error("it runs on")
		}
		if task, err := s.runtime.InspectTask(ctx(t), stopped.Ref); err != nil || task.Running {
			t.Errorf("inspected: %+v, %v", task, err)
		}
		if ended, err := s.runtime.WaitTask(ctx(t), other.Ref); err != nil || ended.ExitCode != 0 {
			t.Errorf("the other one: %+v, %v", ended, err)
		}
		eventually(t, "no session of pgbench is left", func() bool {
			return s.ask(t, server, lab.SuperUser, "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'pgbench'") == "0"
		})
		if err := s.runtime.StopTask(ctx(t), stopped.Ref); err != nil {
			t.Errorf("stopping it again: %v", err)
		}
	})
	t.Run("waiting ends with its context", func(t *testing.T) {
		task := s.start(t, server, "long", "-n", "-T", "600", "-f", "select.sql")
		short, cancel := context.WithTimeout(ctx(t), 50*time.Millisecond)
		defer cancel()
		if _, err := s.runtime.WaitTask(short, task.Ref); !errors.Is(err, short.Err()) || err == nil {
			t.Errorf("err = %v", err)
		}
		if err := s.runtime.RemoveTask(ctx(t), task.Ref); err != nil {
			t.Error(err)
		}
	})
	t.Run("refused", func(t *testing.T) { s.refusedTasks(t, server) })
}

func (s *suite) refusedTasks(t *testing.T, server lab.ServerRef) {
	for name, test := range map[string]struct {
		change func(*lab.TaskSpec)
		want   error
	}{
		"unknown server":      {func(spec *lab.TaskSpec) { spec.Server.Name = "nobody" }, lab.ErrNotFound},
		"unknown client":      {func(spec *lab.TaskSpec) { spec.Version = "99" }, lab.ErrInvalidSpec},
		"run that climbs":     {func(spec *lab.TaskSpec) { spec.Ref.Run = "../../climber" }, lab.ErrInvalidSpec},
		"file that climbs":    {func(spec *lab.TaskSpec) { spec.Files = map[string]string{"../x.sql": ""} }, lab.ErrInvalidSpec},
		"zero byte for an OS": {func(spec *lab.TaskSpec) { spec.Args = []string{"-D", "a=\x00"} }, lab.ErrInvalidSpec},
	} {
		t.Run(name, func(t *testing.T) {
			spec := s.taskSpec(server, "refused", "-n", "-t", "1", "-f", "select.sql")
			test.change(&spec)
			if task, err := s.runtime.StartTask(ctx(t), spec); !errors.Is(err, test.want) {
				t.Errorf("got %+v, %v, want %v", task, err, test.want)
			}
			if s.lists(t, func(object lab.Object) bool {
				return object.Task != nil && strings.Contains(object.Task.Run, "refused")
			}) {
				t.Error("it was made all the same")
			}
		})
	}
}

func (s *suite) output(t *testing.T, ref lab.TaskRef, stream string) string {
	t.Helper()
	return read(t, func() (io.ReadCloser, error) { return s.runtime.TaskLog(ctx(t), ref, stream, 0) })
}
