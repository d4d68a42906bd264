package pgbench

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

func plainRun() lab.Run {
	return lab.Run{Scale: 10, Clients: 8, Threads: 2, Seconds: 60, WarmupSeconds: 5, Protocol: "prepared", Builtin: "tpcb-like"}
}

func TestArguments(t *testing.T) {
	run := plainRun()
	scripted := plainRun()
	scripted.Builtin, scripted.Script, scripted.Rate = "", "SELECT :scale;", 1234.5
	timed, _ := Timed(run)
	warmup, _ := Warmup(run)
	custom, files := Timed(scripted)
	for _, test := range []struct {
		name string
		got  []string
		want string
	}{
		{"init", Init(run), "-i -I dtgp -n -s 10"},
		{"timed", timed, "-n -P 1 --progress-timestamp -c 8 -j 2 -T 60 -M prepared -b tpcb-like"},
		{"warm-up", warmup, "-n -P 1 --progress-timestamp -c 8 -j 2 -T 5 -M prepared -b tpcb-like"},
		{"script and rate", custom, "-n -P 1 --progress-timestamp -c 8 -j 2 -T 60 -M prepared -R 1234.5 -s 10 -f script.sql"},
	} {
		if diff := cmp.Diff(strings.Fields(test.want), test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"script.sql": "SELECT :scale;"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestValidateNamesTheColumn(t *testing.T) {
	if err := Validate(plainRun()); err != nil {
		t.Fatalf("a plain run: %v", err)
	}
	for _, test := range []struct {
		want  string
		spoil func(*lab.Run)
	}{
		{"scale: 0", func(r *lab.Run) { r.Scale = 0 }},
		{"clients: 0", func(r *lab.Run) { r.Clients = 0 }},
		{"threads: -1", func(r *lab.Run) { r.Threads = -1 }},
		{"seconds: 0", func(r *lab.Run) { r.Seconds = 0 }},
		{"warmup_seconds: -1", func(r *lab.Run) { r.WarmupSeconds = -1 }},
		{`protocol: "SIMPLE"`, func(r *lab.Run) { r.Protocol = "SIMPLE" }},
		{"rate: -1", func(r *lab.Run) { r.Rate = -1 }},
		{"rate: NaN", func(r *lab.Run) { r.Rate = math.NaN() }},
		{"rate: +Inf", func(r *lab.Run) { r.Rate = math.Inf(1) }},
		{`builtin: "tpcb-like@2"`, func(r *lab.Run) { r.Builtin = "tpcb-like@2" }},
		{`builtin: ""`, func(r *lab.Run) { r.Builtin = "" }},
		{"builtin, script:", func(r *lab.Run) { r.Script = "SELECT 1;" }},
		{"script, line 1:", func(r *lab.Run) { r.Builtin, r.Script = "", `\shell id` }},
	} {
		run := plainRun()
		test.spoil(&run)
		if err := Validate(run); !errors.Is(err, lab.ErrInvalidSpec) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, want an invalid request that begins with %q", err, test.want)
		}
	}
}
