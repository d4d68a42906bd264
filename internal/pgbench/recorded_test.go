package pgbench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pglab/internal/lab"
)

// recorded is what a real pgbench printed.
func recorded(tb testing.TB, name string) (stdout string, stderr *Stderr) {
	tb.Helper()
	out, err := os.ReadFile(filepath.Join("testdata", "output", name+".stdout"))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "output", name+".stderr"))
	if err != nil {
		tb.Fatal(err)
	}
	stderr = &Stderr{}
	_, _ = stderr.Write(text)
	return string(out), stderr
}

// at is a point in time on the day of the recordings.
func at(unix float64) time.Time {
	return time.UnixMicro(int64(unix * 1e6)).UTC()
}

// ended is a task that ended with a status.
func ended(status int) lab.Task { return lab.Task{ExitCode: status} }
