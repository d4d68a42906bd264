package runtimetest

import (
	"errors"
	"strings"
	"testing"

	"pglab/internal/lab"
)

func (s *suite) absent(t *testing.T) {
	server := lab.ServerRef{Name: "absent", UID: "0d1f2a3b-0000-4000-8000-00000000ffff"}
	task := lab.TaskRef{Run: "absent", Attempt: 1, Phase: lab.TaskBench}
	for what, call := range map[string]func() error{
		"InspectServer": func() error { _, err := s.runtime.InspectServer(ctx(t), server); return err },
		"Dial":          func() error { _, err := s.runtime.Dial(ctx(t), server); return err },
		"ServerLog":     func() error { _, err := s.runtime.ServerLog(ctx(t), server, 0); return err },
		"InspectTask":   func() error { _, err := s.runtime.InspectTask(ctx(t), task); return err },
		"WaitTask":      func() error { _, err := s.runtime.WaitTask(ctx(t), task); return err },
		"TaskLog":       func() error { _, err := s.runtime.TaskLog(ctx(t), task, lab.Stdout, 0); return err },
	} {
		if err := call(); !errors.Is(err, lab.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	for what, call := range map[string]func() error{
		"RemoveServer": func() error { return s.runtime.RemoveServer(ctx(t), server) },
		"StopTask":     func() error { return s.runtime.StopTask(ctx(t), task) },
		"RemoveTask":   func() error { return s.runtime.RemoveTask(ctx(t), task) },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v, want success", what, err)
		}
	}
}

func (s *suite) refused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*lab.ServerSpec)
		want   string // in the message
	}{
		"unknown version":      {func(spec *lab.ServerSpec) { spec.Version = "99" }, "99"},
		"foreign lab":          {func(spec *lab.ServerSpec) { spec.Lab = "another" }, "another"},
		"name that climbs":     {func(spec *lab.ServerSpec) { spec.Name = "../climber" }, "climber"},
		"name with slash":      {func(spec *lab.ServerSpec) { spec.Name = "a/b" }, "a/b"},
		"name like an option":  {func(spec *lab.ServerSpec) { spec.Name = "-rf" }, "-rf"},
		"name with line break": {func(spec *lab.ServerSpec) { spec.Name = "a\nb" }, "name"},
		"empty name":           {func(spec *lab.ServerSpec) { spec.Name = "" }, "empty"},
		"uid that climbs":      {func(spec *lab.ServerSpec) { spec.UID = "../../etc" }, "etc"},
		"parameter of ours":    {func(spec *lab.ServerSpec) { spec.Parameters = map[string]string{"PORT": "1"} }, "PORT"},
		"parameter no name":    {func(spec *lab.ServerSpec) { spec.Parameters = map[string]string{"a = 1\nb": "1"} }, "parameter"},
		"unknown initdb word":  {func(spec *lab.ServerSpec) { spec.Initdb = map[string]string{"pwfile": "/etc/shadow"} }, "pwfile"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := s.spec("refused")
			test.change(&spec)
			_, err := s.runtime.EnsureServer(ctx(t), spec, func(string) {})
			if !errors.Is(err, lab.ErrInvalidSpec) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want ErrInvalidSpec with %q", err, test.want)
			}
		})
	}
	objects, err := s.runtime.List(ctx(t))
	if err != nil || len(objects) != 0 {
		t.Errorf("made all the same: %+v, %v", objects, err)
	}
	t.Run("limit that cannot be enforced", func(t *testing.T) {
		if s.Limits != nil {
			return // it can
		}
		spec := s.spec("refused")
		spec.CPU = 500
		if _, err := s.runtime.EnsureServer(ctx(t), spec, func(string) {}); !errors.Is(err, lab.ErrUnsupported) || !strings.Contains(err.Error(), "cpu") {
			t.Errorf("err = %v, want ErrUnsupported", err)
		}
	})
	t.Run("parameter that the server refuses", func(t *testing.T) {
		spec := s.spec("refused")
		spec.Parameters = map[string]string{"shared_buffers": `lots of "it's"`}
		_, err := s.runtime.EnsureServer(ctx(t), spec, func(string) {})
		const words = `invalid value for parameter "shared_buffers": "lots of "it's""`
		if !errors.Is(err, lab.ErrInvalidSpec) || !strings.Contains(err.Error(), words) {
			t.Errorf("err = %v, want the server's own words", err)
		}
		if server, err := s.runtime.InspectServer(ctx(t), spec.Ref()); err != nil || server.Phase != lab.ServerStopped || !strings.Contains(server.Message, words) {
			t.Errorf("inspected: %+v, %v", server, err)
		}
		if err := s.runtime.RemoveServer(ctx(t), spec.Ref()); err != nil {
			t.Error(err)
		}
	})
}
