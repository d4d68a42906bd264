package sampler

import "time"

const (
	fastInterval = 20 * time.Millisecond  // around the edges of the window
	slowInterval = 100 * time.Millisecond // elsewhere
	rowInterval  = time.Second            // between rows
	shortestRow  = rowInterval / 4        // the last one; the kernel counts in steps of some milliseconds

	fastAfterAttach = 3 * time.Second // connecting takes less, mostly
	fastBeforeEnd   = time.Second     // the end comes early when a rate leaves nothing to do
	fastAfterEnd    = 10 * time.Second

	denseAfterAttach = 10 * time.Minute // connecting never takes longer
	denseBeforeEnd   = time.Minute
)

// pace says how closely to look at a moment.
type pace struct {
	attached time.Duration // when a role was attached last
	end      time.Duration // when the run is expected to end; 0: not known
}

// interval is the time until the next reading.
func (p pace) interval(now time.Duration) time.Duration {
	fast := now < p.attached+fastAfterAttach ||
		p.end > 0 && now >= p.end-fastBeforeEnd && now < p.end+fastAfterEnd
	if fast {
		return fastInterval
	}
	return slowInterval
}

// dense reports whether an edge of the window may be near, so that every
// reading has to be kept. Between the edges of a long run one a second is
// enough for peaks.
func (p pace) dense(now time.Duration) bool {
	return p.end == 0 || now < p.attached+denseAfterAttach || now >= p.end-denseBeforeEnd
}
