package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// activeStates is SQL for the states in which an attempt is under way.
const activeStates = `('launched', 'preparing', 'warming', 'running')`

// Run returns the row of that name. ErrNotFound when there is none.
func (s *Store) Run(ctx context.Context, run string) (r lab.Run, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT r.run, r.cluster, r.lane, r.scale, r.clients, r.threads, r.seconds, r.warmup_seconds, r.protocol,
		        coalesce(r.builtin, ''), coalesce(r.script, ''), coalesce(r.rate, 0), r.init,
		        coalesce(r.client_image, ''), coalesce(r.client_version, ''), coalesce(r.client_cpu, ''),
		        r.timeout_seconds, r.state, coalesce(r.message, ''), r.attempt, coalesce(r.started_at, r.queued_at)
		   FROM lab.runs r WHERE r.run = $1`, run).
		Scan(&r.Run, &r.Cluster, &r.Lane, &r.Scale, &r.Clients, &r.Threads, &r.Seconds, &r.WarmupSeconds, &r.Protocol,
			&r.Builtin, &r.Script, &r.Rate, &r.Init,
			&r.ClientImage, &r.ClientVersion, &r.ClientCPU,
			&r.TimeoutSeconds, &r.State, &r.Message, &r.Attempt, &r.StartedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, lab.NotFound("run %q does not exist", run)
	}
	if err != nil {
		return r, fmt.Errorf("reading run %q: %w", run, err)
	}
	return r, nil
}

// Advance moves an attempt to its next active state. moved is false when the
// row was deleted, canceled or retried meanwhile.
func (s *Store) Advance(ctx context.Context, run string, attempt int, state string) (moved bool, err error) {
	tag, err := s.exec(ctx,
		`UPDATE lab.runs r SET state = $3, message = NULL,
		        window_start = CASE WHEN $3 = 'running' THEN clock_timestamp() ELSE r.window_start END
		  WHERE r.run = $1 AND r.attempt = $2 AND r.state IN `+activeStates, run, attempt, state)
	if err != nil {
		return false, fmt.Errorf("moving run %q to %s: %w", run, state, err)
	}
	return tag.RowsAffected() == 1, nil
}

// StartedTask records when the timed pgbench of an attempt started.
func (s *Store) StartedTask(ctx context.Context, run string, attempt int, at time.Time) error {
	_, err := s.exec(ctx,
		`UPDATE lab_private.attempts a SET task_started_at = $3 WHERE a.run = $1 AND a.attempt = $2`, run, attempt, at)
	if err != nil {
		return fmt.Errorf("recording start of run %q: %w", run, err)
	}
	return nil
}

// Finish records an attempt's outcome and, unless its user has moved the row
// on, its final state: both or neither.
func (s *Store) Finish(ctx context.Context, run string, attempt int, outcome lab.Outcome) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		sql, args := attemptUpdate(run, attempt, outcome)
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
		var start, end *time.Time
		if outcome.Summary != nil && !outcome.Summary.WindowEnd.IsZero() {
			start, end = &outcome.Summary.WindowStart, &outcome.Summary.WindowEnd
		}
		_, err := tx.Exec(ctx,
			`UPDATE lab.runs r SET state = $3, message = nullif($4, ''), window_start = $5, window_end = $6, finished_at = clock_timestamp()
			  WHERE r.run = $1 AND r.attempt = $2 AND r.state IN `+activeStates,
			run, attempt, outcome.State, outcome.Message, start, end)
		return err
	})
	if err != nil {
		return fmt.Errorf("recording outcome of run %q: %w", run, err)
	}
	return nil
}
