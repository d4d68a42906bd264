package pgbench

import (
	"errors"
	"fmt"

	"pglab/internal/lab"
)

// Judge says whether a timed pgbench that has ended measured something: it
// succeeded, printed a complete summary with transactions in it, and its
// window is known. doubt, in words, is for the run's warnings. The error is
// the reason why the run failed, for its message.
func Judge(task lab.Task, stdout string, stderr *Stderr) (summary lab.Summary, doubt string, err error) {
	if reason := failure(task, stderr.Tail()); reason != "" {
		return lab.Summary{}, "", errors.New(reason)
	}
	if summary, err = ParseSummary(stdout); err != nil {
		return lab.Summary{}, "", withTail(err, stderr.Tail())
	}
	if summary.Transactions == 0 {
		return lab.Summary{}, "", withTail(errNoWork, stderr.Tail())
	}
	found, err := measureWindow(summary, stderr.Stamps(), task)
	if err != nil {
		return lab.Summary{}, "", err
	}
	summary.WindowStart, summary.WindowEnd = found.start, found.end
	return summary, found.doubt, nil
}

// Failure says why a pgbench that has ended did not succeed, with the last
// lines of its standard error; empty when it did.
func Failure(task lab.Task, stderr []byte) string {
	var reader Stderr
	_, _ = reader.Write(stderr)
	return failure(task, reader.Tail())
}

func failure(task lab.Task, tail string) string {
	var reason string
	switch {
	case task.Running:
		return "pgbench still runs"
	case task.OOMKilled:
		reason = "pgbench was killed because its memory ran out; give it fewer clients or threads"
	case task.Message != "":
		reason = task.Message
	case task.Signal != "":
		reason = fmt.Sprintf("pgbench was ended by a signal (%s)", task.Signal)
	case task.ExitCode == 1:
		reason = "pgbench could not start its work (exit status 1)"
	case task.ExitCode == 2:
		// It prints a full summary all the same.
		reason = "clients of pgbench met an error and gave up (exit status 2), so its figures count for nothing"
	case task.ExitCode != 0:
		reason = fmt.Sprintf("pgbench failed (exit status %d)", task.ExitCode)
	default:
		return ""
	}
	return withTail(errors.New(reason), tail).Error()
}

func withTail(err error, tail string) error {
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w; it said:\n%s", err, tail)
}
