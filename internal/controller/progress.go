package controller

import (
	"context"

	"pglab/internal/lab"
)

// progress records the progress lines of one attempt. An adopted benchmark's
// output is read from its beginning, so lines that are recorded already are
// skipped.
type progress struct {
	*attempt
	recorded int // lines still to be skipped
	pending  []lab.Progress
}

func (a *attempt) newProgress(ctx context.Context) (*progress, error) {
	recorded, err := a.Store.ProgressLines(ctx, a.run.Run, a.run.Attempt)
	if err != nil {
		return nil, err
	}
	return &progress{attempt: a, recorded: recorded}, nil
}

func (p *progress) take(line lab.Progress) {
	if p.recorded > 0 {
		p.recorded--
		return
	}
	p.pending = append(p.pending, line)
}

// save writes what was taken.
func (p *progress) save(ctx context.Context) {
	if len(p.pending) == 0 {
		return
	}
	ctx, cancel := recording(ctx)
	defer cancel()
	if err := p.Store.AddProgress(ctx, p.run.Run, p.run.Attempt, p.pending); err != nil {
		p.log.Warn("progress not recorded", "lines", len(p.pending), "err", err)
	}
	p.pending = p.pending[:0]
}
