package sampler

import (
	"math"
	"time"

	"pglab/internal/cgroup"
)

// reading is what the counters said at one moment.
type reading struct {
	cgroup.Counters
	at time.Duration // on the sampler's clock
	n  int           // readings that it stands for; gauges are the highest of them
}

// raise lifts the gauges to those of another reading where they are higher.
func (r *reading) raise(other *reading) {
	for gauge := cgroup.MemoryBytes; gauge < cgroup.NumCounters; gauge++ {
		n, measured := other.Get(gauge)
		if own, known := r.Get(gauge); measured && (!known || n > own) {
			r.Set(gauge, n)
		}
	}
}

// between interpolates linearly. A counter that was not measured on one of
// the two sides, or fell, is not measured.
func between(a, b *reading, at time.Duration) reading {
	value := reading{at: at}
	share := float64(at-a.at) / float64(b.at-a.at)
	for which := range cgroup.NumCounters {
		from, before := a.Get(which)
		to, after := b.Get(which)
		if before && after && (which.Gauge() || to >= from) {
			value.Set(which, from+int64(math.Round(share*float64(to-from))))
		}
	}
	return value
}

// grown is by how much a cumulative counter grew from one reading to another;
// nil when it was not measured at both, or fell, as when its group was made anew.
func grown(from, to *reading, which cgroup.Counter) *int64 {
	before, known := from.Get(which)
	after, measured := to.Get(which)
	if !known || !measured || after < before {
		return nil
	}
	difference := after - before
	return &difference
}

// scaled is a counter in another unit, nil when it is not measured.
func scaled(n *int64, factor float64) *float64 {
	if n == nil {
		return nil
	}
	value := float64(*n) * factor
	return &value
}
