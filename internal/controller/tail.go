package controller

import (
	"context"
	"fmt"
	"io"
	"time"

	"pglab/internal/lab"
)

// tailInterval is how often a running task's output is looked at. pgbench
// writes once a second; each look costs the benchmark beside it a little.
const tailInterval = time.Second

// tail hands what a running task writes to a stream to take, piece by piece,
// until ctx ends; then whatever came last.
func tail(ctx context.Context, runtime lab.Runtime, ref lab.TaskRef, stream string, take func([]byte)) error {
	var offset int64
	for last := false; ; {
		piece, err := readFrom(context.WithoutCancel(ctx), runtime, ref, stream, offset)
		if err != nil {
			return err
		}
		offset += int64(len(piece))
		take(piece)
		if last {
			return nil
		}
		sleep(ctx, tailInterval)
		last = ctx.Err() != nil
	}
}

func readFrom(ctx context.Context, runtime lab.Runtime, ref lab.TaskRef, stream string, offset int64) ([]byte, error) {
	log, err := runtime.TaskLog(ctx, ref, stream, offset)
	if err != nil {
		return nil, fmt.Errorf("opening %s of %s: %w", stream, ref.Phase, err)
	}
	defer log.Close()
	piece, err := io.ReadAll(log)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", stream, ref.Phase, err)
	}
	return piece, nil
}
