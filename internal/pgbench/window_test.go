package pgbench

import (
	"strings"
	"testing"
	"time"

	"pglab/internal/lab"
)

// Threads start at the same time in every case; ten transactions a second for
// eight seconds.
func TestWindowFollowsFromProgressLines(t *testing.T) {
	const threads = 1_796_000_000.0
	for _, test := range []struct {
		name    string
		connect *float64 // ms
		lines   []float64
		start   float64 // seconds after the threads started
		doubt   string
	}{
		{"punctual", new(5.0), []float64{1, 2, 3, 4}, 0.005, ""},
		{"one line", new(5.0), []float64{1}, 0.005, ""},
		{"first line late", new(5.0), []float64{1.03, 2, 3, 4}, 0.005, ""},
		{"all lines late by different times", new(5.0), []float64{1.009, 2.004, 3.001, 4.006}, 0.006, ""},
		{"connecting took longer than an interval", new(4100.0), []float64{4.105, 5, 6}, 4.1, ""},
		{"connecting took whole intervals", new(3000.0), []float64{3.02, 4, 5}, 3.0, ""},
		{"a second without a line", new(5.0), []float64{1, 3, 4, 5}, 0.005, ""},
		{"one line in the middle late", new(5.0), []float64{1, 2, 3.3, 4, 5}, 0.005, ""},
		{"one line late by most of an interval", new(5.0), []float64{1, 2, 3.85, 5, 6}, 0.005, "150 ms off their time"},
		{"one line late by half an interval", new(5.0), []float64{1, 2, 3.6, 5, 6}, 0.005, "400 ms off their time"},
		{"first line late by half an interval", new(5.0), []float64{1.4, 2, 3, 4}, 0.405, "400 ms off their time"},
		{"a connection per transaction", nil, []float64{1, 2, 3}, 0, "connected for every transaction"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stamps []time.Time
			for _, line := range test.lines {
				stamps = append(stamps, at(threads+line))
			}
			summary := lab.Summary{Transactions: 80, TPS: 10, ConnectMS: test.connect}
			found, err := measureWindow(summary, stamps, lab.Task{})
			if err != nil {
				t.Fatal(err)
			}
			assertNear(t, "start", found.start, at(threads+test.start))
			assertNear(t, "end", found.end, at(threads+test.start+8))
			assertDoubt(t, found.doubt, test.doubt)
		})
	}
}

// A busy machine let the first line come so late that the window by the
// distances alone stuck out of the process's life by 885 ms.
func TestFirstLineLateByMostOfAnIntervalIsSeenByTheLifeOfTheProcess(t *testing.T) {
	const threads = 1_796_000_000.0
	task := lab.Task{StartedAt: at(threads - 0.02), ExitedAt: at(threads + 8.05)}
	for name, lines := range map[string][]float64{
		"by 885 ms": {1.885, 2.001, 3, 4, 5.002},
		"by 400 ms": {1.4, 2, 3, 4},
		"by 600 ms": {1.6, 2, 3.001, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var stamps []time.Time
			for _, line := range lines {
				stamps = append(stamps, at(threads+line))
			}
			found, err := measureWindow(lab.Summary{Transactions: 80, TPS: 10, ConnectMS: new(5.0)}, stamps, task)
			if err != nil {
				t.Fatal(err)
			}
			if off := found.start.Sub(at(threads + 0.005)).Abs(); off > 2*time.Millisecond {
				t.Errorf("start is %v off", off)
			}
			if strings.Contains(found.doubt, "sticks out") {
				t.Errorf("doubt: %s", found.doubt)
			}
		})
	}
}

func assertNear(t *testing.T, what string, got, want time.Time) {
	t.Helper()
	if difference := got.Sub(want).Abs(); difference > time.Millisecond {
		t.Errorf("%s %v, want %v (%v off)", what, got, want, got.Sub(want))
	}
}

func assertDoubt(t *testing.T, got, want string) {
	t.Helper()
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("doubt %q, want %q", got, want)
	}
}

func TestWindowWithoutProgressLines(t *testing.T) {
	summary := lab.Summary{Transactions: 9, TPS: 10, ConnectMS: new(50.0)}
	for _, test := range []struct {
		name            string
		started, exited float64
		start           float64
		doubt           string
		err             string
	}{
		{"between start and end of the process", 100.000, 101.010, 100.080, "known to 30 ms", ""},
		{"no slack at all", 100.000, 100.950, 100.050, "known to 0 ms", ""},
		{"the process was shorter", 100.000, 100.900, 0, "", "lived shorter"},
		{"the process's life is not known", 0, 0, 0, "", "its window is not known"},
	} {
		t.Run(test.name, func(t *testing.T) {
			task := lab.Task{}
			if test.started != 0 {
				task.StartedAt, task.ExitedAt = at(test.started), at(test.exited)
			}
			found, err := measureWindow(summary, nil, task)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want an error with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			assertNear(t, "start", found.start, at(test.start))
			assertNear(t, "end", found.end, at(test.start+0.9))
			assertDoubt(t, found.doubt, test.doubt)
		})
	}
}

func TestWindowOutsideTheProcessIsDoubted(t *testing.T) {
	summary := lab.Summary{Transactions: 20, TPS: 10, ConnectMS: new(0.0)}
	stamps := []time.Time{at(1001), at(1002)} // window 1000 to 1002
	for _, test := range []struct {
		name            string
		started, exited float64
		doubt           string
	}{
		{"inside", 999.9, 1002.1, ""},
		{"within the slack", 1000.05, 1001.95, ""},
		{"began before", 1000.5, 1002.6, "by 500 ms"},
		{"ended after", 999, 1001, "by 1000 ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := measureWindow(summary, stamps, lab.Task{StartedAt: at(test.started), ExitedAt: at(test.exited)})
			if err != nil {
				t.Fatal(err)
			}
			assertDoubt(t, found.doubt, test.doubt)
		})
	}
}
