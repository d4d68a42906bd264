package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// Release lets a lane go. Only to be called when nothing of the attempt runs any more.
func (s *Store) Release(ctx context.Context, h lab.Holder) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx,
			`DELETE FROM lab_private.lane_holders h WHERE h.lane = $1 AND h.run = $2 AND h.attempt = $3`, h.Lane, h.Run, h.Attempt)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx,
			`INSERT INTO lab_private.lane_releases (lane, released_at) VALUES ($1, clock_timestamp())
			 ON CONFLICT (lane) DO UPDATE SET released_at = excluded.released_at`, h.Lane)
		return err
	})
	if err != nil {
		return fmt.Errorf("releasing lane %q: %w", h.Lane, err)
	}
	return nil
}

// Launch launches the next run of a lane, by the same function as an INSERT
// into lab.launches. launched is false when nothing can start there now.
func (s *Store) Launch(ctx context.Context, lane string) (launched bool, err error) {
	err = retry(ctx, func() error {
		return s.pool.QueryRow(ctx, `SELECT l.run IS NOT NULL FROM lab_private.launch($1) AS l`, lane).Scan(&launched)
	})
	if err != nil {
		return false, fmt.Errorf("launching in lane %q: %w", lane, err)
	}
	return launched, nil
}
