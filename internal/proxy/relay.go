package proxy

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"pglab/internal/wire"
)

// How long the other side has once one side has ended.
const (
	halfCloseGrace = 500 * time.Millisecond // a client's last statement, before it is interrupted
	leaveGrace     = time.Second            // an interrupted server, before it is cut off
	lingerGrace    = 500 * time.Millisecond // a client, to read the last words to it
	farewellGrace  = time.Second            // a client, to take ours
)

// relay carries a session's bytes both ways with one read and one write per
// chunk, and tells activity about them. Splicing sockets in the kernel would
// hide the bytes and, for the small messages of a database, saves nothing.
type relay struct {
	client, backend net.Conn
	log             *slog.Logger
	interrupt       func() error // asks the server to give up its statement
	activity        activity
	up, down        direction // from client to server, from server to client
}

// direction is one half of a relay.
type direction struct {
	bytes   atomic.Int64
	done    chan struct{}
	outcome outcome // once done
}

// outcome is why a session, or one direction of it, ended.
type outcome struct {
	reason string
	err    error
}

// Reasons, as the log has them.
const (
	clientClosed = "client closed the connection"
	clientLost   = "connection to the client was lost"
	serverClosed = "server closed the connection"
	serverLost   = "connection to the server was lost"
	toldToEnd    = "told to end"
	panicked     = "panic"
)

func newRelay(client, backend net.Conn, log *slog.Logger, interrupt func() error) *relay {
	r := &relay{client: client, backend: backend, log: log, interrupt: interrupt}
	r.up.done, r.down.done = make(chan struct{}), make(chan struct{})
	return r
}

// greet hands the server's first messages on.
func (r *relay) greet(messages []byte) error {
	r.activity.server(messages)
	n, err := r.client.Write(messages)
	r.down.bytes.Add(int64(n))
	if err != nil {
		return fmt.Errorf("sending greeting to client: %w", err)
	}
	return nil
}

// run relays until both directions have ended and both connections are closed.
func (r *relay) run() outcome {
	go r.follow(&r.up, r.upstream)
	go r.follow(&r.down, r.downstream)
	var first outcome
	select {
	case <-r.up.done:
		first = r.up.outcome
		if first.reason == clientClosed { // its reading half may be open, for what it asked last
			r.down.within(halfCloseGrace)
		}
		r.stopWork()
	case <-r.down.done:
		first = r.down.outcome
		r.stopWork()
		if first.reason != clientLost && wire.CloseWrite(r.client) == nil {
			r.up.within(lingerGrace)
		}
	}
	r.client.Close()
	r.backend.Close()
	<-r.up.done
	<-r.down.done
	return first
}

func (r *relay) follow(d *direction, move func() outcome) {
	defer close(d.done)
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			d.outcome = outcome{panicked, fmt.Errorf("%v", p)}
		}
	}()
	d.outcome = move()
}

// stopWork keeps a server from working on for nobody.
func (r *relay) stopWork() {
	if r.serverLeft() || !r.activity.busy() {
		return
	}
	if err := r.interrupt(); err != nil {
		r.log.Warn("abandoned statement not canceled", "err", err)
		return
	}
	r.down.within(leaveGrace)
}

// serverLeft reports whether the server has ended its side by itself.
func (r *relay) serverLeft() bool {
	if !r.down.within(0) {
		return false
	}
	return r.down.outcome.reason == serverClosed || r.down.outcome.reason == serverLost
}

func (d *direction) within(grace time.Duration) bool {
	select {
	case <-d.done:
		return true
	default:
	}
	select {
	case <-d.done:
		return true
	case <-time.After(grace):
		return false
	}
}

// upstream moves what the client sends to the server.
func (r *relay) upstream() outcome {
	var c chunk
	for {
		bytes, err := c.read(r.client)
		if len(bytes) > 0 {
			if !r.activity.client(bytes) {
				return r.discard(outcome{reason: toldToEnd})
			}
			if _, err := r.backend.Write(bytes); err != nil {
				return r.discard(outcome{serverLost, err})
			}
			r.up.bytes.Add(int64(len(bytes)))
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			// Many clients never say Terminate, postgres_fdw for one.
			wire.CloseWrite(r.backend) // a server that is gone already needs none
			return outcome{clientClosed, nil}
		case err != nil:
			return outcome{clientLost, err}
		}
	}
}

// discard drops what the client still sends: the last words to it are on
// their way, and unread bytes would make its socket reset and lose them.
func (r *relay) discard(why outcome) outcome {
	io.Copy(io.Discard, r.client)
	return why
}

// downstream moves what the server sends to the client. It alone writes to
// the client, so a farewell never lands inside a message.
func (r *relay) downstream() outcome {
	var c chunk
	for {
		if reason := r.farewell(); reason != nil {
			return outcome{toldToEnd, reason}
		}
		bytes, err := c.read(r.backend)
		if len(bytes) > 0 {
			r.activity.server(bytes)
			if _, err := r.client.Write(bytes); err != nil {
				return outcome{clientLost, err}
			}
			r.down.bytes.Add(int64(len(bytes)))
		}
		if errors.Is(err, io.EOF) {
			return outcome{serverClosed, nil}
		}
		if woken, _ := r.activity.over(); err != nil && woken == nil {
			return outcome{serverLost, err}
		}
	}
}

// farewell tells the client why its session is over, and returns the reason;
// nil while it is not over.
func (r *relay) farewell() *wire.Error {
	reason, boundary := r.activity.over()
	if reason != nil && boundary {
		r.client.SetWriteDeadline(time.Now().Add(farewellGrace))
		reason.WriteTo(r.client) // a client that is gone by now needs none
	}
	return reason
}

// end ends the session when it is idle, or now; else as soon as it is idle.
func (r *relay) end(reason *wire.Error, now bool) {
	if !r.activity.end(reason, now) {
		return
	}
	r.backend.SetReadDeadline(time.Unix(1, 0)) // wakes downstream to say it
	if now {
		r.client.SetWriteDeadline(time.Now().Add(farewellGrace)) // a client that does not read holds nothing up
	}
}
