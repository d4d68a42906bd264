package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// Holders returns the attempts that hold a lane.
func (s *Store) Holders(ctx context.Context) ([]lab.Holder, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT h.lane, h.run, h.attempt, h.cluster, coalesce(a.cluster_uid::text, ''), coalesce(a.runtime, ''), h.since, coalesce(r.state, '')
		   FROM lab_private.lane_holders h
		   LEFT JOIN lab_private.attempts a ON a.run = h.run AND a.attempt = h.attempt
		   LEFT JOIN lab.runs r ON r.run = h.run AND r.attempt = h.attempt`)
	if err != nil {
		return nil, fmt.Errorf("listing lane holders: %w", err)
	}
	holders, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h lab.Holder, err error) {
		err = row.Scan(&h.Lane, &h.Run, &h.Attempt, &h.Cluster, &h.ClusterUID, &h.Runtime, &h.Since, &h.State)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("listing lane holders: %w", err)
	}
	return holders, nil
}

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

// Autolaunch launches the next run of every free lane that asks for it, by
// the same function as an INSERT into lab.launches, and returns the runs.
func (s *Store) Autolaunch(ctx context.Context) (started []string, err error) {
	rows, err := s.pool.Query(ctx,
		`SELECT l.lane FROM lab.lanes l
		  WHERE l.autolaunch
		    AND NOT EXISTS (SELECT FROM lab_private.lane_holders h WHERE h.lane = l.lane)
		    AND EXISTS (SELECT FROM lab.runs r WHERE r.lane = l.lane AND r.state = 'queued')`)
	if err != nil {
		return nil, fmt.Errorf("listing lanes to launch: %w", err)
	}
	lanes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("listing lanes to launch: %w", err)
	}
	for _, lane := range lanes {
		var run *string
		err := retry(ctx, func() error {
			return s.pool.QueryRow(ctx, `SELECT l.run FROM lab_private.launch($1) AS l`, lane).Scan(&run)
		})
		if err != nil {
			return started, fmt.Errorf("launching in lane %q: %w", lane, err)
		}
		if run != nil {
			started = append(started, *run)
		}
	}
	return started, nil
}
