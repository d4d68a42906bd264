package sampler

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// clock tells the time of readings: the wall clock as it was at the start,
// plus the monotonic time since. pgbench's stamps are made the same way, so
// that a wall clock which is set meanwhile moves neither.
type clock struct {
	zero    time.Time            // wall clock at the start
	boot    time.Duration        // the kernel's monotonic clock at the start
	elapsed func() time.Duration // since the start
}

// newClock starts now.
func newClock() (clock, error) {
	boot, err := monotonic()
	if err != nil {
		return clock{}, err
	}
	base := time.Now()
	return clock{zero: base.Round(0), boot: boot, elapsed: func() time.Duration { return time.Since(base) }}, nil
}

// resumeClock goes on with a clock of another process of the same boot.
func resumeClock(zero time.Time, boot time.Duration) (clock, error) {
	now, err := monotonic()
	if err != nil {
		return clock{}, err
	}
	if now < boot {
		return clock{}, fmt.Errorf("its clock is ahead of this machine's, which was restarted since")
	}
	base := time.Now().Add(boot - now)
	return clock{zero: zero, boot: boot, elapsed: func() time.Duration { return time.Since(base) }}, nil
}

func (c clock) wall(at time.Duration) time.Time { return c.zero.Add(at) }

// of places a point in wall time, such as pgbench tells, on the clock.
func (c clock) of(wall time.Time) time.Duration { return wall.Round(0).Sub(c.zero) }

func monotonic() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("reading the monotonic clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}
