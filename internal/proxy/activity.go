package proxy

import (
	"sync"

	"pglab/internal/wire"
)

// activity knows whether a session is idle: no statement is under way and no
// transaction is open. The server's last ReadyForQuery alone does not tell,
// for a query may be on its way; so what the client sends is counted too.
// It also is the one place that decides when a session that was told to end
// does so: a chunk either counts, or is not sent on any more.
type activity struct {
	mu                     sync.Mutex
	fromClient, fromServer wire.Stream

	queries int  // ReadyForQuery is owed for a Query or FunctionCall
	syncs   int  // ReadyForQuery is owed for a Sync
	batch   bool // extended messages without their Sync yet
	status  byte // of the last ReadyForQuery

	ending *wire.Error // why the session is to end
	closed bool        // nothing goes to the server any more
}

// client takes a chunk that is about to go to the server. False: it must not.
func (a *activity) client(chunk []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.fromClient.Walk(chunk, func(kind, _ byte) {
		switch kind {
		case 'Q', 'F':
			a.queries++
		case 'P', 'B', 'D', 'E', 'C', 'H':
			a.batch = true
		case 'S':
			a.batch = false
			a.syncs++
		case 'c', 'f': // a server that takes COPY data in ignores Sync
			a.syncs = 0
		}
	})
	return true
}

// server takes a chunk that came from the server.
func (a *activity) server(chunk []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fromServer.Walk(chunk, func(kind, status byte) {
		if kind != 'Z' {
			return
		}
		a.status = status
		if a.syncs > 0 {
			a.syncs--
		} else if a.queries > 0 {
			a.queries--
		}
	})
	if a.ending != nil && a.idle() {
		a.closed = true
	}
}

// end closes the session to the client when it is idle, or now; else as soon
// as it is idle. It reports whether the session is closed.
func (a *activity) end(reason *wire.Error, now bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending == nil {
		a.ending = reason
	}
	a.closed = a.closed || now || a.idle()
	return a.closed
}

// over returns why the session is closed, nil while it is not, and whether a
// message of ours can follow what the server has sent.
func (a *activity) over() (reason *wire.Error, boundary bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		return nil, false
	}
	return a.ending, a.fromServer.Boundary()
}

// busy reports whether the server may be at work for the client.
func (a *activity) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.idle()
}

func (a *activity) idle() bool {
	return a.status == 'I' && a.queries == 0 && a.syncs == 0 && !a.batch
}
