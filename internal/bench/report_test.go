package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// report is the table that `make bench` ends with.
type report struct {
	lines   []string
	busiest float64 // cores that others used beside the busiest benchmark
}

// row is one figure of the table.
type row struct {
	what   string
	value  string // the median, unless it says otherwise
	spread string
	bound  string // empty: shown only
	broken bool
}

// section begins the rows of one benchmark.
func (r *report) section(title string) { r.lines = append(r.lines, "", title) }

// add puts a row into the table. A broken bound fails the benchmark.
func (r *report) add(b *testing.B, row row) {
	b.Helper()
	verdict := ""
	switch {
	case row.broken:
		verdict = "FAIL"
		b.Errorf("%s: %s (%s), bound %s", row.what, row.value, row.spread, row.bound)
	case row.bound != "":
		verdict = "pass"
	}
	line := fmt.Sprintf("  %-46s %12s  %-32s %-17s %s", row.what, row.value, row.spread, row.bound, verdict)
	r.lines = append(r.lines, strings.TrimRight(line, " "))
}

// busy adds what else the machine did: every figure grows with it.
func (r *report) busy(b *testing.B, cores float64) {
	b.Helper()
	r.busiest = max(r.busiest, cores)
	r.add(b, row{what: "other work on this machine meanwhile, cores", value: fmt.Sprintf("%.1f", cores)})
}

func (r *report) print(to io.Writer) {
	fmt.Fprintf(to, "\n%-48s %12s  %-32s %-17s\n", machine(), "median", "spread", "bound")
	for _, line := range r.lines {
		fmt.Fprintln(to, line)
	}
	const quiet = 0.25 // cores
	if r.busiest > quiet {
		fmt.Fprintf(to, "\nOther work took up to %.1f cores meanwhile. The bounds are meant for a machine that does nothing else.\n", r.busiest)
	}
	fmt.Fprintln(to)
}

// machine says where the figures are from, and what else went on there.
func machine() string {
	release := "unknown"
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		release = unix.ByteSliceToString(name.Release[:])
	}
	load, _ := os.ReadFile("/proc/loadavg") // where it is missing it is not told
	average, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d CPUs, Linux %.16s, load %s", runtime.NumCPU(), release, average)
}

// say tells whoever waits what is being done.
func say(format string, args ...any) { fmt.Printf("# "+format+"\n", args...) }
