package pgbench

import (
	"math"
	"slices"
	"strings"

	"pglab/internal/lab"
)

var (
	builtins  = []string{"tpcb-like", "simple-update", "select-only"}
	protocols = []string{"simple", "extended", "prepared"}
)

// Validate says what pgbench would refuse about a run, by column, before
// anything is started. The error is lab.ErrInvalidSpec.
func Validate(run lab.Run) error {
	for _, number := range []struct {
		column string
		n, min int
	}{
		{"scale", run.Scale, 1},
		{"clients", run.Clients, 1},
		{"threads", run.Threads, 1},
		{"seconds", run.Seconds, 1},
		{"warmup_seconds", run.WarmupSeconds, 0},
	} {
		if number.n < number.min {
			return lab.InvalidSpec("%s: %d is less than %d", number.column, number.n, number.min)
		}
	}
	switch {
	case !slices.Contains(protocols, run.Protocol):
		return lab.InvalidSpec("protocol: %q is none of simple, extended, prepared", run.Protocol)
	case run.Rate < 0 || math.IsNaN(run.Rate) || math.IsInf(run.Rate, 0):
		return lab.InvalidSpec("rate: %v is not a number of transactions per second; leave it out to run as fast as possible", run.Rate)
	case run.Script != "" && run.Builtin != "":
		return lab.InvalidSpec("builtin, script: a run has one of them, not both")
	case run.Script == "" && !slices.Contains(builtins, run.Builtin):
		return lab.InvalidSpec("builtin: %q is none of %s", run.Builtin, strings.Join(builtins, ", "))
	}
	return CheckScript(run.Script)
}
