package sampler

import "sync"

// outbox hands things on without ever keeping the sender waiting. Whatever
// comes while a delivery is under way goes out together with the next one:
// nothing is lost, and what piles up is small (rows: some 300 bytes a second).
type outbox[T any] struct {
	deliver func([]T) // the slice is the outbox's again when it returns
	wake    chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	pending []T
}

func newOutbox[T any](deliver func([]T)) *outbox[T] {
	box := &outbox[T]{deliver: deliver, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go box.run()
	return box
}

func (b *outbox[T]) put(things ...T) {
	b.mu.Lock()
	b.pending = append(b.pending, things...)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// close delivers the rest and returns when it has been. No put may follow.
func (b *outbox[T]) close() {
	close(b.wake)
	<-b.done
}

func (b *outbox[T]) run() {
	defer close(b.done)
	var batch []T
	for open := true; open; {
		_, open = <-b.wake
		b.mu.Lock()
		batch, b.pending = b.pending, batch[:0]
		b.mu.Unlock()
		if len(batch) > 0 {
			b.deliver(batch)
		}
	}
}
