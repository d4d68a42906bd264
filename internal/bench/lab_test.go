package bench

import (
	"os"
	"testing"
	"time"
)

// size is how much is measured.
type size struct {
	leastPairs, mostPairs int
	seconds               int // of each run of a pair
	longRuns, longSeconds int // of which the lab's own CPU is taken
	launches              int
	queries               int
	results               int // runs in lab.results
	samples               int // rows in lab.usage for each
}

var (
	full  = size{leastPairs: 8, mostPairs: 16, seconds: 10, longRuns: 3, longSeconds: 60, launches: 25, queries: 30, results: 10_000, samples: 100}
	short = size{leastPairs: 2, mostPairs: 2, seconds: 2, longRuns: 1, longSeconds: 3, launches: 4, queries: 5, results: 10_000, samples: 100}
)

// BenchmarkLab measures what the lab costs, and prints a table of it.
func BenchmarkLab(b *testing.B) {
	size := full
	if testing.Short() {
		size = short
	}
	subject := newSubject(b)
	table := &report{}
	b.Run("run", func(b *testing.B) { benchmarkRun(b, subject, table, size) })
	b.Run("launch", func(b *testing.B) { benchmarkLaunch(b, subject, table, size) })
	b.Run("gap", func(b *testing.B) { benchmarkGap(b, subject, table, size) })
	b.Run("results", func(b *testing.B) { benchmarkResults(b, subject, table, size) }) // last: it fills the lab
	table.print(os.Stdout)
}

// pause lets time pass that is itself what is wanted.
func pause(b *testing.B, length time.Duration) {
	b.Helper()
	select {
	case <-time.After(length):
	case <-b.Context().Done():
	}
}
