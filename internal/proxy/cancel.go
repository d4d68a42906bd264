package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"pglab/internal/wire"
)

// interruptTime bounds the delivery of one cancel request.
const interruptTime = 2 * time.Second

// deliver passes a cancel request on to the target of the session that it
// names. The client is told nothing, as in Postgres; that its connection is
// closed only afterwards is what keeps its next statement safe. Cancel
// requests take no session's slot: they have a small number of their own.
func (s *Server) deliver(log *slog.Logger, key wire.CancelKey) {
	c := s.sessions.byKey(key)
	if c == nil {
		log.Debug("cancel request with a key of no session")
		return
	}
	if err := c.interrupt(); err != nil {
		log.Warn("cancel request not delivered", "target_session", c.id, "err", err)
	}
}

// interrupt asks the session's target to give up the statement that runs there.
func (c *session) interrupt() error {
	if c.backendKey.Secret == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), interruptTime)
	defer cancel()
	select {
	case c.server.cancels <- struct{}{}:
		defer func() { <-c.server.cancels }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for a place among cancel requests: %w", ctx.Err())
	}
	conn, err := c.target.Dial(ctx)
	if err != nil {
		return fmt.Errorf("dialing target to cancel: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	return wire.SendCancel(conn, c.backendKey)
}
