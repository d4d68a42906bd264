package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Listen calls wake, with the payload, for every notification of the lab's
// channel until ctx ends, and once with "" after each (re)connection: what
// happened in between is unknown then. Losing the connection is a warning, not an end.
func (s *Store) Listen(ctx context.Context, log *slog.Logger, wake func(payload string)) {
	for ctx.Err() == nil {
		if err := s.listen(ctx, wake); err != nil && ctx.Err() == nil {
			log.Warn("listening to engine interrupted", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (s *Store) listen(ctx context.Context, wake func(string)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	// A connection that listens is of no use to the pool any more.
	listener := conn.Hijack()
	defer listener.Close(context.WithoutCancel(ctx))
	if _, err := listener.Exec(ctx, "LISTEN lab"); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	wake("")
	for {
		note, err := listener.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		wake(note.Payload)
	}
}
