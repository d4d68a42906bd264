package sampler

import (
	"testing"
	"time"
)

func TestClockGoesOnInAnotherProcess(t *testing.T) {
	first, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	// As if the first process had begun an hour earlier on a wall clock that
	// was wrong and has been set since.
	zero, boot := first.zero.Add(-24*time.Hour), first.boot-time.Hour
	second, err := resumeClock(zero, boot)
	if err != nil {
		t.Fatal(err)
	}
	if off := second.elapsed() - first.elapsed() - time.Hour; off.Abs() > time.Second {
		t.Errorf("an hour and %v have passed, want an hour", off)
	}
	at := 90 * time.Minute
	if got := second.wall(at); !got.Equal(zero.Add(at)) {
		t.Errorf("wall time %v, want %v: stamps go on from the first one's", got, zero.Add(at))
	}
	if got := second.of(second.wall(at)); got != at {
		t.Errorf("and back %v, want %v", got, at)
	}
}

func TestClockOfAnotherBootIsRefused(t *testing.T) {
	now, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resumeClock(time.Now(), now+time.Hour); err == nil {
		t.Error("a clock from the future was accepted")
	}
}
