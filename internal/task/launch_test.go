package task

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgvSurvivesParsing(t *testing.T) {
	job := Job{
		Launch: Launch{
			Groups: []string{"/sys/fs/cgroup/cpu/a b", "/sys/fs/cgroup/memory/-x"},
			UID:    7, GID: 8, Gate: true,
			Argv: []string{"/bin/pgbench", "--group", "-c", "--", "it's $(id)"},
		},
		Dir: "/d", Stdout: "/o", Stderr: "/e", Status: "/s",
	}
	gotJob, err := parseTask(job.TaskArgv("pglab")[2:], io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job, gotJob); diff != "" {
		t.Error(diff)
	}
	gotLaunch, err := parseEnter(job.EnterArgv("pglab")[2:], io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job.Launch, gotLaunch); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ args, want string }{
		"no program":        {"--gate", "no program"},
		"user alone":        {"--uid 5 -- true", "belong together"},
		"user below zero":   {"--uid -5 --gid -5 -- true", "belong together"},
		"user in letters":   {"--uid root -- true", "invalid value"},
		"a flag of no one":  {"--shell -- true", "not defined"},
		"group not a value": {"--group", "needs an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseTask(strings.Fields(test.args), io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q in it", err, test.want)
			}
		})
	}
}
