package process

import (
	"context"
	"sync"
)

// locks lets one caller at a time work on an object. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when let go
}

// lock waits for an object's lock, no longer than ctx.
func (l *locks) lock(ctx context.Context, object string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = make(map[string]chan struct{})
		}
		busy, taken := l.held[object]
		if !taken {
			mine := make(chan struct{})
			l.held[object] = mine
			l.mu.Unlock()
			return func() { l.unlock(object, mine) }, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *locks) unlock(object string, mine chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, object)
	close(mine)
}

// broadcast tells any number of listeners that something changed. The zero
// value is ready.
type broadcast struct {
	mu        sync.Mutex
	listeners map[chan struct{}]bool
}

// listen returns a channel of hints; one that is not taken stands for many.
func (b *broadcast) listen() (hints chan struct{}, leave func()) {
	hints = make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = make(map[chan struct{}]bool)
	}
	b.listeners[hints] = true
	return hints, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, hints)
	}
}

func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for hints := range b.listeners {
		hint(hints)
	}
}

// hint leaves a hint unless one is waiting already.
func hint(hints chan struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}
