package controller

import (
	"context"
	"sync"
)

// crew runs at most one goroutine per key. The zero value is ready.
type crew struct {
	mu      sync.Mutex
	members map[string]*member
	done    sync.WaitGroup
}

type member struct {
	cancel context.CancelCauseFunc
	wake   chan struct{}
}

type wakeKey struct{}

// start runs work under key, unless work under that key is running already.
// It reports whether it started anything.
func (c *crew) start(ctx context.Context, key string, work func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, busy := c.members[key]; busy {
		return false
	}
	if c.members == nil {
		c.members = map[string]*member{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	m := &member{cancel: cancel, wake: make(chan struct{}, 1)}
	c.members[key] = m
	c.done.Go(func() {
		defer func() {
			cancel(nil)
			c.mu.Lock()
			delete(c.members, key)
			c.mu.Unlock()
		}()
		work(context.WithValue(ctx, wakeKey{}, m.wake))
	})
	return true
}

// woken is the channel on which the work that was started with ctx is woken.
func woken(ctx context.Context) <-chan struct{} {
	wake, _ := ctx.Value(wakeKey{}).(chan struct{})
	return wake
}

// cancel ends the work under key with a cause. No such work: no-op.
func (c *crew) cancel(key string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, busy := c.members[key]; busy {
		m.cancel(cause)
	}
}

// retain cancels the work of every key that keep does not hold.
func (c *crew) retain(keep map[string]bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, m := range c.members {
		if !keep[key] {
			m.cancel(cause)
		}
	}
}

// busy reports whether work under key is running.
func (c *crew) busy(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, busy := c.members[key]
	return busy
}

// idle reports whether no work is running.
func (c *crew) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members) == 0
}

// wakeAll wakes every piece of work that waits on woken.
func (c *crew) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// wait returns when all work has ended.
func (c *crew) wait() { c.done.Wait() }
