package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pglab/internal/testenv"
)

// pace is how often a session of this test acts: many of them are not to
// keep the engine from its work.
const pace = 100 * time.Millisecond

// paced calls act at that pace until it says that it is done, or until done ends.
func paced(done context.Context, pace time.Duration, act func() (finished bool, err error)) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		finished, err := act()
		if finished || err != nil {
			return err
		}
		select {
		case <-done.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// keepLaunching inserts into lab.launches until done ends. Every error is one too many.
func keepLaunching(ctx, done context.Context, conn *pgx.Conn, started *atomic.Int64) error {
	return paced(done, pace, func() (bool, error) {
		var run *string
		var note string
		if err := conn.QueryRow(ctx, "INSERT INTO lab.launches (lane) VALUES ('default') RETURNING run, note").Scan(&run, &note); err != nil {
			return false, fmt.Errorf("launching: %w", err)
		}
		if run != nil {
			started.Add(1)
		}
		return false, nil
	})
}

// watch runs launch.sql in psql until done ends. Its \watch stops at the first error.
func watch(done context.Context, t testing.TB, url string) error {
	output := testenv.Psql(done, t, testenv.Call{Args: []string{"-v", "every=0.2", "-f", "launch.sql", url}})
	if done.Err() == nil || strings.Contains(output.Stderr, "ERROR") || !strings.Contains(output.Stdout, "note") {
		return fmt.Errorf("launch.sql: %+v", output)
	}
	return nil
}

// disturb executes a user's statement until it has changed that many runs, or until done ends.
func disturb(ctx, done context.Context, conn *pgx.Conn, changes int64, statement string) error {
	return paced(done, pace, func() (bool, error) {
		tag, err := conn.Exec(ctx, statement)
		if err != nil && !concurrent(err) {
			return false, fmt.Errorf("%s: %w", statement, err)
		}
		changes -= tag.RowsAffected()
		return changes <= 0, nil
	})
}

// concurrent tells what users are told to expect of their own statements when
// another session was faster: a serialization failure, or a run that has
// moved on to another state.
func concurrent(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) &&
		(refusal.Code == pgerrcode.SerializationFailure || refusal.Code == pgerrcode.ObjectInUse)
}

// control plays the controller: it takes the attempt that holds the lane to
// its end and lets the lane go, forgets deleted runs, and returns when nothing is left to do.
func control(ctx context.Context, conn *pgx.Conn) error {
	steps := []string{
		"UPDATE lab.runs SET state = 'running', window_start = clock_timestamp() WHERE run = $1 AND attempt = $2 AND state = 'launched'",
		"UPDATE lab.runs SET state = 'done', finished_at = clock_timestamp() WHERE run = $1 AND attempt = $2 AND state = 'running'",
		`WITH gone AS (DELETE FROM lab_private.lane_holders WHERE run = $1 AND attempt = $2 RETURNING lane)
		 INSERT INTO lab_private.lane_releases SELECT lane, clock_timestamp() FROM gone ON CONFLICT (lane) DO UPDATE SET released_at = excluded.released_at`,
		"DELETE FROM lab_private.attempts WHERE run IN (SELECT name FROM lab_private.tombstones) AND run = $1 AND attempt <= $2",
		"DELETE FROM lab_private.tombstones WHERE name = $1 AND uid::integer <= $2",
	}
	return paced(ctx, pace/10, func() (bool, error) {
		var run string
		var attempt int
		err := conn.QueryRow(ctx, "SELECT run, attempt FROM lab_private.lane_holders").Scan(&run, &attempt)
		if errors.Is(err, pgx.ErrNoRows) {
			var busy bool
			err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM lab.runs WHERE state NOT IN ('done', 'failed', 'canceled'))").Scan(&busy)
			return !busy, err
		}
		for _, step := range steps {
			if err == nil {
				_, err = conn.Exec(ctx, step, run, attempt)
			}
		}
		return false, err
	})
}
