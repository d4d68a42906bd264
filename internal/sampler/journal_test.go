package sampler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

var compareReadings = cmp.AllowUnexported(reading{}, cgroup.Counters{})

// written is a journal of two roles.
func written(t *testing.T) (text []byte, clock clock, server history) {
	t.Helper()
	clock, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	server = steady(time.Second)
	server[3].n = 10
	server[4].Unset(cgroup.MemoryBytes)
	text = appendHeader(nil, clock)
	text = appendCounted(text, lab.RolePostgres, lab.SourceCgroupV2)
	for i := range server {
		text = appendReading(text, lab.RolePostgres, &server[i])
		if i%2 == 0 {
			text = appendReading(text, lab.RolePgbench, &server[i])
		}
	}
	return text, clock, server
}

func TestJournalReadsBack(t *testing.T) {
	text, clock, server := written(t)
	past, err := parseJournal(text)
	if err != nil {
		t.Fatal(err)
	}
	if !past.zero.Equal(clock.zero) || past.boot != clock.boot {
		t.Errorf("clock %v %v, want %v %v", past.zero, past.boot, clock.zero, clock.boot)
	}
	if diff := cmp.Diff(server, past.history[lab.RolePostgres], compareReadings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	if got := past.counted[lab.RolePostgres]; got != lab.SourceCgroupV2 {
		t.Errorf("counted by %q", got)
	}
}

// A process can end in the middle of any write.
func TestJournalCutAnywhereKeepsItsWholeLines(t *testing.T) {
	text, _, server := written(t)
	header := strings.IndexByte(string(text), '\n') + 1
	for size := header; size <= len(text); size++ {
		past, err := parseJournal(text[:size])
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", size, err)
		}
		whole := strings.Count(string(text[:size]), "\npostgres ")
		if size < len(text) && !strings.HasSuffix(string(text[:size]), "\n") &&
			strings.HasPrefix(string(text[strings.LastIndexByte(string(text[:size]), '\n')+1:size]), "postgres ") {
			whole-- // the last one has no end
		}
		got := past.history[lab.RolePostgres]
		if diff := cmp.Diff(server[:whole], append(history{}, got...), compareReadings); diff != "" {
			t.Fatalf("cut to %d bytes (-want +got):\n%s", size, diff)
		}
	}
}

func TestJournalPassesOverDamage(t *testing.T) {
	text, _, server := written(t)
	lines := strings.SplitAfter(string(text), "\n")
	damage := []string{
		"\n", "\x00\x00\x00\x00\n", "postgres 1 1\n", "counted\n",
		strings.Replace(lines[2], " 1 ", " -1 ", 1), // stands for no reading
		lines[2], // of an earlier time
		strings.TrimSuffix(lines[2], "\n") + lines[3],                              // torn, and gone on with
		strings.Replace(lines[len(lines)-2], "7500000", "75x0000", 1),              // no number
		strings.Replace(lines[len(lines)-2], "7500000", "99999999999999999999", 1), // too large a number
	}
	for _, damaged := range damage {
		past, err := parseJournal([]byte(strings.Join(lines[:6], "") + damaged + strings.Join(lines[6:], "")))
		if err != nil {
			t.Fatalf("after %q: %v", damaged, err)
		}
		if diff := cmp.Diff(server, past.history[lab.RolePostgres], compareReadings); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", damaged, diff)
		}
	}
}

func TestJournalOfAnotherPglab(t *testing.T) {
	text := "pglab-readings 1 1000 2000 cpu_usec future_counter anon_bytes\npostgres 5 1 10 20 30\n"
	past, err := parseJournal([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := history{says(5*time.Microsecond, map[cgroup.Counter]int64{cgroup.CPUUsec: 10, cgroup.AnonBytes: 30})}
	if diff := cmp.Diff(want, past.history["postgres"], compareReadings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

func TestJournalWithoutHeader(t *testing.T) {
	for _, text := range []string{"", "\n", "pglab-readings 2 1 1 cpu_usec\n", "pglab-readings 1 now then\n", "pglab-readings 1 5 5 cpu_usec"} {
		if _, err := parseJournal([]byte(text)); !errors.Is(err, errNoJournal) {
			t.Errorf("%q: got %v, want errNoJournal", text, err)
		}
	}
}
