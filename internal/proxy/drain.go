package proxy

import (
	"context"
	"fmt"

	"github.com/jackc/pgerrcode"

	"pglab/internal/wire"
)

// Drain stops the server. Listeners close at once and logins that are under
// way are refused; idle sessions are ended with 57P01, busy ones as soon as
// they are idle. When ctx ends first, the rest is cut off and the error says
// how many they were. When Drain returns, every connection is closed.
func (s *Server) Drain(ctx context.Context) error {
	s.stopListening()
	s.sessions.close()
	s.pending.wake()
	s.endAll("", stopped(), false)

	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cut()
		return nil
	case <-ctx.Done():
	}
	left := s.endAll("", stopped(), true)
	s.cut()
	<-done
	if left > 0 {
		return fmt.Errorf("draining: sessions cut off while busy: %d: %w", left, context.Cause(ctx))
	}
	return nil
}

// Terminate ends every session on a database now, because what is behind it
// is being removed. Sessions that come later are Router's to refuse.
func (s *Server) Terminate(database string) {
	s.endAll(database, &wire.Error{
		Code:    pgerrcode.AdminShutdown,
		Message: fmt.Sprintf("terminating connection because %q is being removed", database),
	}, true)
}

// endAll tells the sessions on a database ("": on all) to end, and how many they are.
func (s *Server) endAll(database string, reason *wire.Error, now bool) int {
	list := s.sessions.on(database)
	for _, c := range list {
		c.end(reason, now)
	}
	return len(list)
}

func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDraining() {
		return
	}
	close(s.draining)
	for _, ln := range s.listeners {
		if err := ln.Close(); err != nil {
			s.Log.Warn("closing a listener failed", "err", err)
		}
	}
}

func stopped() *wire.Error {
	return &wire.Error{
		Code:    pgerrcode.AdminShutdown,
		Message: "terminating connection due to administrator command",
	}
}

func shuttingDown() *wire.Error {
	return &wire.Error{
		Code:    pgerrcode.CannotConnectNow,
		Message: "the database system is shutting down",
	}
}
