package sampler

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const s = time.Second
	long := pace{attached: 10 * s, end: 7200 * s}
	for _, test := range []struct {
		name     string
		pace     pace
		now      time.Duration
		interval time.Duration
		dense    bool
	}{
		{"just attached", long, 12 * s, fastInterval, true},
		{"connecting is over", long, 13 * s, slowInterval, true},
		{"in the middle", long, 3600 * s, slowInterval, false},
		{"shortly before the end", long, 7198 * s, slowInterval, true},
		{"at the end", long, 7199 * s, fastInterval, true},
		{"a little late", long, 7205 * s, fastInterval, true},
		{"hours late", long, 9000 * s, slowInterval, true},
		{"end not known", pace{attached: 10 * s}, 3600 * s, slowInterval, true},
	} {
		if got := test.pace.interval(test.now); got != test.interval {
			t.Errorf("%s: interval %v, want %v", test.name, got, test.interval)
		}
		if got := test.pace.dense(test.now); got != test.dense {
			t.Errorf("%s: dense %v, want %v", test.name, got, test.dense)
		}
	}
}
