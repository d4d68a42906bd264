package proxy

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// pending are the connections that have not logged in, oldest first. When
// they are too many, the oldest is closed: a login takes milliseconds, so
// whoever has waited longest is the least likely to be one.
type pending struct {
	mu    sync.Mutex
	limit int
	conns *list.List // of net.Conn
}

func newPending(limit int) *pending { return &pending{limit: limit, conns: list.New()} }

// add takes a connection in; leave, which may be called again, lets it go.
func (p *pending) add(conn net.Conn) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns.Len() >= p.limit {
		p.conns.Remove(p.conns.Front()).(net.Conn).Close()
	}
	place := p.conns.PushBack(conn)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns.Remove(place) // no-op for one that was evicted
	}
}

// count is how many connections have not logged in.
func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns.Len()
}

// wake makes every pending connection's read fail with a time-out.
func (p *pending) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place := p.conns.Front(); place != nil; place = place.Next() {
		place.Value.(net.Conn).SetDeadline(time.Unix(1, 0))
	}
}
