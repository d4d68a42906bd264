package sampler

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutboxLosesNothingOnASlowReceiver(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var batches [][]int
	first := true
	box := newOutbox(func(batch []int) {
		batches = append(batches, slices.Clone(batch))
		if first {
			first = false
			close(entered)
			<-release
		}
	})
	box.put(0)
	<-entered
	for i := range 1000 { // none of these waits
		box.put(i + 1)
	}
	close(release)
	box.close()
	var want []int
	for i := range 1001 {
		want = append(want, i)
	}
	if diff := cmp.Diff(want, slices.Concat(batches...)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if len(batches) != 2 {
		t.Errorf("%d deliveries, want 2: what came meanwhile goes together", len(batches))
	}
}
