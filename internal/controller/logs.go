package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"pglab/internal/lab"
	"pglab/internal/store"
)

// copyChunk bounds what one look copies of a server's log, so that a server
// that logs every statement cannot drown the engine in the middle of a run.
const copyChunk = 256 << 10

// logFollower copies a server's log into lab.logs, piece by piece.
type logFollower struct {
	position store.LogPosition
	known    bool
}

// copyServerLog copies complete lines that were written since the last call,
// at most copyChunk bytes of them.
func (f *logFollower) copyServerLog(ctx context.Context, s *store.Store, runtime lab.Runtime, ref lab.ServerRef) error {
	if !f.known {
		position, err := s.ServerLogPosition(ctx, ref.UID)
		if err != nil {
			return err
		}
		f.position, f.known = position, true
	}
	log, err := runtime.ServerLog(ctx, ref, f.position.Bytes)
	if err != nil {
		return fmt.Errorf("opening server log: %w", err)
	}
	defer log.Close()
	chunk, err := io.ReadAll(io.LimitReader(log, copyChunk))
	if err != nil {
		return fmt.Errorf("reading server log: %w", err)
	}
	end := bytes.LastIndexByte(chunk, '\n') + 1
	if end == 0 && len(chunk) == copyChunk {
		end = copyChunk // one line longer than a chunk: cut it
	}
	if end == 0 {
		return nil
	}
	lines := splitLines(chunk[:end], f.position.Lines)
	next := store.LogPosition{Bytes: f.position.Bytes + int64(end), Lines: f.position.Lines + int64(len(lines))}
	if err := s.AddServerLog(ctx, ref, lines, next); err != nil {
		return err
	}
	f.position = next
	return nil
}

// recordPatience is how long a record waits for an engine that is down, or
// for another session's lock.
const recordPatience = time.Minute

// recording is a context for writing down what was seen: it outlives the
// attempt's own end, so that a canceled run has its logs, too.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
}

// copyTaskLogs records a task's whole output.
func (c *Controller) copyTaskLogs(ctx context.Context, runtime lab.Runtime, ref lab.TaskRef) {
	ctx, cancel := recording(ctx)
	defer cancel()
	for _, stream := range []string{lab.Stdout, lab.Stderr} {
		text, err := readTaskLog(ctx, runtime, ref, stream)
		if err == nil {
			err = c.Store.AddTaskLog(ctx, ref, stream, splitLines(text, 0))
		}
		if err != nil {
			c.Log.Warn("task log not copied", "run", ref.Run, "phase", ref.Phase, "stream", stream, "err", err)
		}
	}
}

// taskLogLimit bounds what is read of a task's output: a failing script can
// print a line per transaction.
const taskLogLimit = 8 << 20

func readTaskLog(ctx context.Context, runtime lab.Runtime, ref lab.TaskRef, stream string) ([]byte, error) {
	log, err := runtime.TaskLog(ctx, ref, stream, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s of %s: %w", stream, ref.Phase, err)
	}
	defer log.Close()
	text, err := io.ReadAll(io.LimitReader(log, taskLogLimit))
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", stream, ref.Phase, err)
	}
	return text, nil
}

// splitLines numbers the lines of text, from after+1 on.
func splitLines(text []byte, after int64) []lab.LogLine {
	var lines []lab.LogLine
	for line := range bytes.Lines(text) {
		after++
		lines = append(lines, lab.LogLine{Line: after, Text: string(bytes.TrimRight(line, "\r\n"))})
	}
	return lines
}
