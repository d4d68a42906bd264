package pgbench

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pglab/internal/lab"
)

// window is the time in which the clients of a run worked: from the moment
// when all were connected until the last transaction.
type window struct {
	start time.Time
	end   time.Time
	doubt string // why the edges may be wrong, in words; empty: they are right to a few milliseconds
}

// interval is the time between two progress lines, as load asks for it.
const interval = time.Second

// measureWindow finds the window of a complete run.
//
// Progress lines are due at whole intervals after pgbench's threads started,
// before they connected. A line can be late, never early. The first one comes
// late when connecting takes longer than an interval. So
//
//	threads start = first line - the longer of interval and connection time,
//	                earlier if later lines show that the first one was late
//	window start  = threads start + initial connection time
//	window end    = window start + transactions / tps
//
// task bounds it: pgbench's process began before, and ended after.
func measureWindow(summary lab.Summary, stamps []time.Time, task lab.Task) (window, error) {
	var connecting time.Duration
	if summary.ConnectMS != nil {
		connecting = time.Duration(*summary.ConnectMS * float64(time.Millisecond))
	}
	length := time.Duration(float64(summary.Transactions) / summary.TPS * float64(time.Second))
	if len(stamps) == 0 {
		return windowFromLife(connecting, length, task)
	}
	threads, doubt := threadsStart(stamps, connecting)
	if summary.ConnectMS == nil {
		doubt = "pgbench connected for every transaction and did not tell when it had started"
	}
	found := windowFrom(threads.Add(connecting), length, doubt)
	outside := outsideLife(found, task)
	if outside == "" {
		return found, nil
	}
	if earlier, ok := threadsStartedEarlier(stamps, connecting); ok {
		again := windowFrom(earlier.Add(connecting), length, doubt)
		if outsideLife(again, task) == "" {
			return again, nil
		}
	}
	found.doubt = outside
	return found, nil
}

func windowFrom(start time.Time, length time.Duration, doubt string) window {
	return window{start: start, end: start.Add(length), doubt: doubt}
}

// threadsStartedEarlier is when pgbench's threads started if the first line
// was late by more than a quarter of an interval. By the distances of the
// lines alone that cannot be told from later lines which are late, all by the
// same time; but only one of the two fits the life of the process.
func threadsStartedEarlier(stamps []time.Time, connecting time.Duration) (start time.Time, ok bool) {
	start = stamps[0].Add(-max(interval, connecting))
	phases := phasesAfter(start, stamps[1:])
	if len(phases) < 2 {
		return time.Time{}, false
	}
	slices.Sort(phases)
	usual := phases[len(phases)/2]
	agreeing := 0
	for _, phase := range phases {
		if (phase - usual).Abs() <= jitter {
			agreeing++
		}
	}
	late := -usual
	if usual > 0 {
		late = interval - usual
	}
	return start.Add(-late), usual.Abs() > jitter && 2*agreeing > len(phases)
}

// phasesAfter is how far lines are off the grid of whole intervals after start.
func phasesAfter(start time.Time, stamps []time.Time) []time.Duration {
	phases := make([]time.Duration, 0, len(stamps))
	for _, stamp := range stamps {
		since := stamp.Sub(start)
		phases = append(phases, since-since.Round(interval))
	}
	return phases
}

// jitter is how far lines of an idle enough machine lie off their grid.
const jitter = 50 * time.Millisecond

// threadsStart is when pgbench's threads started.
func threadsStart(stamps []time.Time, connecting time.Duration) (start time.Time, doubt string) {
	start = stamps[0].Add(-max(interval, connecting))
	phases := phasesAfter(start, stamps[1:])
	var earliest, farthest time.Duration
	for _, phase := range phases {
		farthest = min(farthest, phase)
		// A line a quarter early is rather one that is three quarters late.
		if phase > -interval/4 {
			earliest = min(earliest, phase)
		}
	}
	agreeing := 0
	for _, phase := range phases {
		if phase <= earliest+jitter {
			agreeing++
		}
	}
	if farthest <= -interval/4 || 2*agreeing < len(phases) {
		doubt = fmt.Sprintf("pgbench's progress lines came up to %d ms off their time: the machine stood still in between",
			-farthest.Milliseconds())
	}
	if 2*agreeing < len(phases) {
		return start, doubt // one late line against many that agree with the first
	}
	return start.Add(earliest), doubt
}

// windowFromLife is for runs of a second or two, which may end before their
// first progress line. The window then lies somewhere between the start of
// the process and its end; the middle is taken.
func windowFromLife(connecting, length time.Duration, task lab.Task) (window, error) {
	if task.StartedAt.IsZero() || task.ExitedAt.IsZero() {
		return window{}, errors.New("pgbench printed no progress line, so its window is not known; run it for more seconds")
	}
	earliest := task.StartedAt.Add(connecting)
	latest := task.ExitedAt.Add(-length)
	spread := latest.Sub(earliest)
	if spread < 0 {
		return window{}, errors.New("pgbench printed no progress line, and its process lived shorter than its figures say; run it for more seconds")
	}
	start := earliest.Add(spread / 2)
	return window{
		start: start, end: start.Add(length),
		doubt: fmt.Sprintf("pgbench ended before its first progress line; the window is known to %.0f ms", float64((spread+1)/2)/float64(time.Millisecond)),
	}, nil
}

// lifeSlack is how far the window may stick out of the process's life before
// that means something: starts are known by the clock tick, ends by the
// moment when somebody looked.
const lifeSlack = 100 * time.Millisecond

func outsideLife(found window, task lab.Task) string {
	var out time.Duration
	if !task.StartedAt.IsZero() {
		out = task.StartedAt.Sub(found.start)
	}
	if !task.ExitedAt.IsZero() {
		out = max(out, found.end.Sub(task.ExitedAt))
	}
	if out <= lifeSlack {
		return ""
	}
	return fmt.Sprintf("the window sticks out of the life of pgbench's process by %d ms: a clock was set, or the machine stood still",
		out.Milliseconds())
}
