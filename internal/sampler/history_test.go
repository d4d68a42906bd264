package sampler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

const ms = time.Millisecond

// says makes a reading.
func says(at time.Duration, counters map[cgroup.Counter]int64) reading {
	r := reading{at: at, n: 1}
	for which, n := range counters {
		r.Set(which, n)
	}
	return r
}

// steady is a reading every 100 ms from 0 on, of something that uses half a
// core and grows by 1000 bytes a reading.
func steady(until time.Duration) history {
	var h history
	for at := time.Duration(0); at <= until; at += 100 * ms {
		h = append(h, says(at, map[cgroup.Counter]int64{
			cgroup.CPUUsec:     7_000_000 + at.Microseconds()/2,
			cgroup.MemoryBytes: 1000 * int64(at/(100*ms)),
		}))
	}
	return h
}

func TestUsageOverTheExactWindow(t *testing.T) {
	h := steady(10 * time.Second)
	usage := h.usage(2050*ms, 6025*ms)
	want := lab.Usage{
		CPUSeconds:      new(1.9875),
		CPUAvg:          new(0.5),
		CPUPeak:         new(0.5),
		MemoryPeakBytes: new(int64(60_250)), // interpolated at the end
		Samples:         40,
		EdgeGapMS:       100,
	}
	if diff := cmp.Diff(want, usage, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func TestUsageAtTheEdgesOfReadings(t *testing.T) {
	for _, test := range []struct {
		name       string
		start, end time.Duration
		seconds    *float64
		gap        float64
	}{
		{"on readings", 1000 * ms, 5000 * ms, new(2.0), 0},
		{"from a little before the first", -200 * ms, 5000 * ms, new(2.5), 200},
		{"from long before the first", -300 * ms, 5000 * ms, nil, 300},
		{"to a little after the last", 5000 * ms, 10_200 * ms, new(2.5), 200},
		{"to long after the last", 5000 * ms, 20_000 * ms, nil, 10_000},
		{"all after the last", 11_000 * ms, 12_000 * ms, nil, 2000},
	} {
		t.Run(test.name, func(t *testing.T) {
			usage := steady(10*time.Second).usage(test.start, test.end)
			if diff := cmp.Diff(test.seconds, usage.CPUSeconds, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("CPU seconds (-want +got):\n%s", diff)
			}
			if usage.EdgeGapMS != test.gap {
				t.Errorf("edge gap %v ms, want %v", usage.EdgeGapMS, test.gap)
			}
		})
	}
}

func TestUsageIsRefusedWhenAnEdgeLiesInAGap(t *testing.T) {
	h := steady(10 * time.Second)
	without := func(from, to time.Duration) history {
		var rest history
		for _, r := range h {
			if r.at <= from || r.at >= to {
				rest = append(rest, r)
			}
		}
		return rest
	}
	t.Run("at the edge", func(t *testing.T) {
		usage := without(5000*ms, 5300*ms).usage(1000*ms, 5100*ms)
		if usage.CPUSeconds != nil || usage.CPUAvg != nil || usage.EdgeGapMS != 300 {
			t.Errorf("got %+v, want no CPU and a gap of 300 ms", usage)
		}
		if usage.MemoryPeakBytes == nil || *usage.MemoryPeakBytes != 50_000 || usage.CPUPeak == nil || usage.Samples != 41 {
			t.Errorf("got %+v, want peaks of what was seen", usage)
		}
	})
	t.Run("inside, as after a restart", func(t *testing.T) {
		usage := without(2000*ms, 8000*ms).usage(1000*ms, 9000*ms)
		if usage.CPUSeconds == nil || *usage.CPUSeconds != 4 {
			t.Errorf("CPU seconds %v, want 4: counters go on in a gap", usage.CPUSeconds)
		}
	})
}

func TestUsageNotMeasured(t *testing.T) {
	for _, test := range []struct {
		name string
		h    history
	}{
		{"no readings", nil},
		{"a counter that is absent", history{says(0, map[cgroup.Counter]int64{cgroup.Periods: 0}), says(time.Second, map[cgroup.Counter]int64{cgroup.Periods: 0})}},
		{"absent at the end", history{says(0, map[cgroup.Counter]int64{cgroup.CPUUsec: 1}), says(time.Second, nil)}},
		{"absent at the start", history{says(0, nil), says(time.Second, map[cgroup.Counter]int64{cgroup.CPUUsec: 1})}},
		{"set back and grown past its start", history{
			says(0, map[cgroup.Counter]int64{cgroup.CPUUsec: 1000}), says(500*ms, map[cgroup.Counter]int64{cgroup.CPUUsec: 5}),
			says(time.Second, map[cgroup.Counter]int64{cgroup.CPUUsec: 2000})}},
	} {
		t.Run(test.name, func(t *testing.T) {
			usage := test.h.usage(0, time.Second)
			if usage.CPUSeconds != nil || usage.CPUAvg != nil {
				t.Errorf("CPU of %v s is none", *usage.CPUSeconds)
			}
		})
	}
	t.Run("a window that is none", func(t *testing.T) {
		if usage := steady(time.Second).usage(500*ms, 500*ms); usage != (lab.Usage{}) {
			t.Errorf("got %+v", usage)
		}
	})
}

func TestEveryCounterHasItsField(t *testing.T) {
	first, last := map[cgroup.Counter]int64{}, map[cgroup.Counter]int64{}
	for which := range cgroup.NumCounters {
		first[which] = 1000
		last[which] = 1000 + 100_000*(int64(which)+1)
	}
	h := history{says(0, first), says(2*time.Second, last)}
	usage := h.usage(0, 2*time.Second)
	want := lab.Usage{
		CPUSeconds: new(0.1), UserSeconds: new(0.2), SystemSeconds: new(0.3), CPUAvg: new(0.05), CPUPeak: new(0.05),
		Periods: new(int64(400_000)), ThrottledPeriods: new(int64(500_000)), ThrottledMS: new(600.0),
		ReadBytes: new(int64(700_000)), WriteBytes: new(int64(800_000)),
		CPUPressurePct: new(45.0), IOPressurePct: new(50.0), MemoryPressurePct: new(55.0), OOMKills: new(int64(1_200_000)),
		MemoryPeakBytes: new(int64(1_301_000)), AnonPeakBytes: new(int64(1_401_000)),
		FilePeakBytes: new(int64(1_501_000)), ShmemPeakBytes: new(int64(1_601_000)),
		Samples: 2,
	}
	if diff := cmp.Diff(want, usage, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func TestPeakIsOverAWholeSecond(t *testing.T) {
	// Two cores for half a second in an otherwise idle time: 1 core over the
	// best second.
	var h history
	var used int64
	for at := time.Duration(0); at <= 4*time.Second; at += 100 * ms {
		h = append(h, says(at, map[cgroup.Counter]int64{cgroup.CPUUsec: used}))
		if at >= 1500*ms && at < 2000*ms {
			used += 200_000
		}
	}
	if peak := h.usage(0, 4*time.Second).CPUPeak; peak == nil || *peak != 1 {
		t.Errorf("peak %v, want 1", peak)
	}
	if peak := h.usage(0, 900*ms).CPUPeak; peak != nil {
		t.Errorf("peak %v of a window shorter than a second, want none", *peak)
	}
}
