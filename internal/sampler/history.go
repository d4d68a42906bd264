package sampler

import (
	"sort"
	"time"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

// maxGap is how far readings around an edge of the window may lie apart.
// What happened in a wider gap is anybody's guess.
const maxGap = 250 * time.Millisecond

// history is the readings of one role, in order of time.
type history []reading

// edge is what the counters said at a moment: the readings around it,
// interpolated. Beyond the first or the last reading that one is taken, if it
// is near: a client is seen a little after it began, and is gone at its end.
// gap is how far the neighbours lie apart, or the reading from the edge; ok
// is false when that is too far, or there is nothing.
func (h history) edge(at time.Duration) (value reading, gap time.Duration, ok bool) {
	if len(h) == 0 {
		return reading{}, 0, false
	}
	next := h.from(at)
	switch {
	case next == len(h):
		value = h[next-1]
		gap = at - value.at
	case next == 0 || h[next].at == at:
		value = h[next]
		gap = value.at - at
	default:
		gap = h[next].at - h[next-1].at
		value = between(&h[next-1], &h[next], at)
	}
	value.at = at
	return value, gap, gap <= maxGap
}

// from is the index of the first reading that is not before a moment.
func (h history) from(at time.Duration) int {
	return sort.Search(len(h), func(i int) bool { return h[i].at >= at })
}

// usage is what was used between two moments. Its Source is left empty.
func (h history) usage(start, end time.Duration) lab.Usage {
	var usage lab.Usage
	if end <= start || len(h) == 0 {
		return usage
	}
	first, firstGap, firstOK := h.edge(start)
	last, lastGap, lastOK := h.edge(end)
	usage.EdgeGapMS = float64(max(firstGap, lastGap)) / float64(time.Millisecond)

	inside := h[h.from(start):h.from(end+1)]
	for i := range inside {
		usage.Samples += inside[i].n
	}
	points := make(history, 0, len(inside)+2)
	if firstOK {
		points = append(points, first)
	}
	points = append(points, inside...)
	if lastOK {
		points = append(points, last)
	}
	points.peaks(&usage)
	if firstOK && lastOK {
		points.totals(&usage)
	}
	return usage
}

// totals fills in the differences between the first and the last reading.
func (h history) totals(usage *lab.Usage) {
	first, last := &h[0], &h[len(h)-1]
	length := last.at - first.at
	total := func(which cgroup.Counter) *int64 {
		if h.fell(which) {
			return nil
		}
		return grown(first, last, which)
	}
	const seconds, millis = 1e-6, 1e-3 // per microsecond
	percent := 100 / float64(length.Microseconds())
	usage.CPUSeconds = scaled(total(cgroup.CPUUsec), seconds)
	usage.CPUAvg = scaled(total(cgroup.CPUUsec), 1/float64(length.Microseconds()))
	usage.UserSeconds = scaled(total(cgroup.UserUsec), seconds)
	usage.SystemSeconds = scaled(total(cgroup.SystemUsec), seconds)
	usage.Periods = total(cgroup.Periods)
	usage.ThrottledPeriods = total(cgroup.ThrottledPeriods)
	usage.ThrottledMS = scaled(total(cgroup.ThrottledUsec), millis)
	usage.ReadBytes = total(cgroup.ReadBytes)
	usage.WriteBytes = total(cgroup.WriteBytes)
	usage.CPUPressurePct = scaled(total(cgroup.CPUPressureUsec), percent)
	usage.IOPressurePct = scaled(total(cgroup.IOPressureUsec), percent)
	usage.MemoryPressurePct = scaled(total(cgroup.MemoryPressureUsec), percent)
	usage.OOMKills = total(cgroup.OOMKills)
}

// fell reports whether a counter was set back in between: even if it is
// higher at the end, what it counted before is lost.
func (h history) fell(which cgroup.Counter) bool {
	var highest int64
	for i := range h {
		n, measured := h[i].Get(which)
		if measured && n < highest {
			return true
		}
		highest = max(highest, n)
	}
	return false
}

// peaks fills in the highest values.
func (h history) peaks(usage *lab.Usage) {
	var highest reading
	for i := range h {
		highest.raise(&h[i])
	}
	gauge := func(which cgroup.Counter) *int64 {
		n, measured := highest.Get(which)
		if !measured {
			return nil
		}
		return &n
	}
	usage.MemoryPeakBytes = gauge(cgroup.MemoryBytes)
	usage.AnonPeakBytes = gauge(cgroup.AnonBytes)
	usage.FilePeakBytes = gauge(cgroup.FileBytes)
	usage.ShmemPeakBytes = gauge(cgroup.ShmemBytes)
	usage.CPUPeak = h.cpuPeak()
}

// cpuPeak is the highest number of cores over a second, or over the little
// more that lies between two readings; nil when there is no whole second.
func (h history) cpuPeak() *float64 {
	var peak *float64
	to := 0
	for from := range h {
		for to < len(h) && h[to].at < h[from].at+rowInterval {
			to++
		}
		if to == len(h) {
			break
		}
		cores := scaled(grown(&h[from], &h[to], cgroup.CPUUsec), 1/float64((h[to].at-h[from].at).Microseconds()))
		if cores != nil && (peak == nil || *cores > *peak) {
			peak = cores
		}
	}
	return peak
}
