package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// AddTaskLog records a stream of a task. Repeating it replaces what was there.
func (s *Store) AddTaskLog(ctx context.Context, task lab.TaskRef, stream string, lines []lab.LogLine) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx,
			`DELETE FROM lab.logs l WHERE l.object = 'run ' || $1 AND l.attempt = $2 AND l.source = $3 AND l.stream = $4`,
			task.Run, task.Attempt, task.Phase, stream)
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"lab", "logs"},
			[]string{"object", "source", "stream", "attempt", "line", "at", "text"},
			logRows(lines, func(l lab.LogLine, at any) []any {
				return []any{"run " + task.Run, task.Phase, stream, task.Attempt, l.Line, at, text(l.Text)}
			}))
		return err
	})
	if err != nil {
		return fmt.Errorf("recording %s of run %q: %w", stream, task.Run, err)
	}
	return nil
}

// LogPosition is how far a server's log was copied.
type LogPosition struct {
	Bytes int64
	Lines int64
}

// ServerLogPosition returns how far the log of a cluster was copied.
func (s *Store) ServerLogPosition(ctx context.Context, uid string) (p LogPosition, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT p.bytes, p.lines FROM lab_private.log_positions p WHERE p.cluster_uid = $1::text::uuid`, uid).Scan(&p.Bytes, &p.Lines)
	if errors.Is(err, pgx.ErrNoRows) {
		return LogPosition{}, nil
	}
	if err != nil {
		return p, fmt.Errorf("reading log position of cluster %s: %w", uid, err)
	}
	return p, nil
}

// AddServerLog records lines of a server's log and how far it has been copied
// now: both or neither.
func (s *Store) AddServerLog(ctx context.Context, server lab.ServerRef, lines []lab.LogLine, now LogPosition) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"lab", "logs"},
			[]string{"object", "source", "stream", "uid", "line", "at", "text"},
			logRows(lines, func(l lab.LogLine, at any) []any {
				return []any{"cluster " + server.Name, "postgres", lab.Stderr, server.UID, l.Line, at, text(l.Text)}
			}))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`INSERT INTO lab_private.log_positions (cluster_uid, bytes, lines) VALUES ($1::text::uuid, $2, $3)
			 ON CONFLICT (cluster_uid) DO UPDATE SET bytes = excluded.bytes, lines = excluded.lines`,
			server.UID, now.Bytes, now.Lines)
		return err
	})
	if err != nil {
		return fmt.Errorf("recording log of cluster %q: %w", server.Name, err)
	}
	return nil
}

func logRows(lines []lab.LogLine, row func(l lab.LogLine, at any) []any) pgx.CopyFromSource {
	now := time.Now()
	return pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) { return row(lines[i], now), nil })
}

// text makes any bytes storable: Postgres takes neither NUL nor broken UTF-8.
func text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\\0"), "\uFFFD")
}
