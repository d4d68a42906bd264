package pgbench

import (
	"strconv"

	"pglab/internal/lab"
)

// scriptFile is what a run's script is called in the task's directory.
const scriptFile = "script.sql"

// Init is the arguments that make the data set: the four tables with their
// rows and primary keys. Vacuum is left to whoever prepares the run, who has
// to do it before every run anyway.
func Init(run lab.Run) []string {
	return []string{"-i", "-I", "dtgp", "-n", "-s", strconv.Itoa(run.Scale)}
}

// Warmup is the arguments and files of the run's load for WarmupSeconds.
func Warmup(run lab.Run) (args []string, files map[string]string) {
	return load(run, run.WarmupSeconds)
}

// Timed is the arguments and files of the run's timed part.
func Timed(run lab.Run) (args []string, files map[string]string) {
	return load(run, run.Seconds)
}

// load is the same for warm-up and timed part, or the one would not warm the
// other. -n, because a vacuum at pgbench's start would lie within the load of
// the neighbours; progress with timestamps, because they tell the window.
func load(run lab.Run, seconds int) (args []string, files map[string]string) {
	args = []string{
		"-n", "-P", "1", "--progress-timestamp",
		"-c", strconv.Itoa(run.Clients),
		"-j", strconv.Itoa(run.Threads),
		"-T", strconv.Itoa(seconds),
		"-M", run.Protocol,
	}
	if run.Rate > 0 {
		args = append(args, "-R", strconv.FormatFloat(run.Rate, 'f', -1, 64))
	}
	if run.Script == "" {
		return append(args, "-b", run.Builtin), nil
	}
	// Only a script needs to be told the scale, for its :scale; for its own
	// scripts pgbench counts the branches and warns about -s.
	return append(args, "-s", strconv.Itoa(run.Scale), "-f", scriptFile), map[string]string{scriptFile: run.Script}
}
