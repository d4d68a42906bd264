package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Server needs. Roles, Router, Log and Secret are required.
type Config struct {
	Roles  Roles
	Router Router
	Log    *slog.Logger
	// TLS is offered on TCP; nil: not offered.
	TLS *tls.Config
	// Secret makes the salts that unknown users see. Keep it over restarts, or they tell.
	Secret []byte

	MaxSessions  int           // logged in at a time; 0: 1000
	MaxPending   int           // not yet logged in; the oldest gives way to the next; 0: 500
	LoginTimeout time.Duration // from accept to the end of authentication; 0: 15 s
	DialTimeout  time.Duration // to route a session, to reach its target, to log in there; each; 0: 5 s
}

const (
	defaultMaxSessions  = 1000
	defaultMaxPending   = 500
	defaultLoginTimeout = 15 * time.Second
	defaultDialTimeout  = 5 * time.Second
	maxCancels          = 32
)

// Server accepts clients on any number of listeners.
type Server struct {
	Config
	pending  *pending
	sessions *sessions
	cancels  chan struct{} // a place for each cancel request on its way
	lastID   atomic.Uint64

	ctx       context.Context // ends when a drain has run out of time
	cut       context.CancelFunc
	draining  chan struct{}  // closed when a drain begins
	work      sync.WaitGroup // every connection
	mu        sync.Mutex     // of listeners, and of draining against work
	listeners []net.Listener
}

// New checks the configuration.
func New(config Config) (*Server, error) {
	if config.Roles == nil || config.Router == nil || config.Log == nil || len(config.Secret) == 0 {
		return nil, errors.New("starting proxy: Roles, Router, Log and Secret are required")
	}
	setDefault(&config.MaxSessions, defaultMaxSessions)
	setDefault(&config.MaxPending, defaultMaxPending)
	setDefault(&config.LoginTimeout, defaultLoginTimeout)
	setDefault(&config.DialTimeout, defaultDialTimeout)
	s := &Server{
		Config:   config,
		pending:  newPending(config.MaxPending),
		sessions: newSessions(config.MaxSessions),
		cancels:  make(chan struct{}, maxCancels),
		draining: make(chan struct{}),
	}
	s.ctx, s.cut = context.WithCancel(context.Background())
	return s, nil
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Bounds of the pause after an Accept that failed, which mostly means that
// the process is out of descriptors.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// Serve accepts clients until Drain closes the listener; then, and after a
// Drain, it returns nil.
// Clients of a TCP listener log in by SCRAM. So do those of a unix socket,
// unless they run as the gateway's own OS user or as root.
func (s *Server) Serve(ln net.Listener) error {
	if !s.adopt(ln) {
		return ln.Close()
	}
	pause := minAcceptPause
	for {
		conn, err := ln.Accept()
		if err == nil {
			pause = minAcceptPause
			s.start(conn)
			continue
		}
		if s.isDraining() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accepting client: %w", err)
		}
		s.Log.Warn("accept failed, trying again", "err", err, "pause_ms", pause.Milliseconds())
		select {
		case <-time.After(pause):
		case <-s.draining:
		}
		pause = min(2*pause, maxAcceptPause)
	}
}

// adopt leaves the listener for Drain to close; false once a drain has begun.
func (s *Server) adopt(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDraining() {
		return false
	}
	s.listeners = append(s.listeners, ln)
	return true
}

// start gives a connection its goroutine; once a drain has begun there are no more.
func (s *Server) start(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDraining() {
		conn.Close()
		return
	}
	s.work.Go(func() { s.serve(conn) })
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
