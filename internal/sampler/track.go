package sampler

import (
	"time"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

// source is where counters come from: a cgroup.Reader or a cgroup.Tree.
type source interface {
	Read(into *cgroup.Counters) error
	Close() error
}

// sparing is a source that can leave out what the kernel works longest on.
type sparing interface {
	ReadCounters(into *cgroup.Counters) error
}

// track is one role of a run: where its counters are read, and what they said.
type track struct {
	role    string
	counted string // by what: lab.SourceCgroupV1, ...
	source  source // nil until attached
	history history

	folded reading // readings since the last one in history; n of them
	latest reading // n is 0 until there is one
	row    reading // where the next row begins; n is 0 until there is one
	high   reading // gauges since then
}

// read takes a reading. A group or process that is gone gives none: what it
// used is known up to the last one. Without gauges, memory is left out if
// that saves anything.
func (t *track) read(now func() time.Duration, gauges bool) (taken bool) {
	if t.source == nil {
		return false
	}
	taking, read := reading{at: now(), n: 1}, t.source.Read
	if source, ok := t.source.(sparing); ok && !gauges {
		read = source.ReadCounters
	}
	if err := read(&taking.Counters); err != nil {
		return false
	}
	t.take(taking)
	return true
}

func (t *track) take(taken reading) {
	t.latest = taken
	t.high.raise(&taken)
	if t.row.n == 0 {
		t.row = taken
	}
	taken.raise(&t.folded)
	taken.n += t.folded.n
	t.folded = taken
}

// keep puts what was read since the last time into history, as one reading.
func (t *track) keep() (kept reading, ok bool) {
	if t.folded.n == 0 {
		return reading{}, false
	}
	kept = t.folded
	t.history = append(t.history, kept)
	t.folded = reading{}
	return kept, true
}

// endRow makes a row of what was used since the last one, stamped with the
// moment at which both roles were read. Not ok: nothing was read since.
func (t *track) endRow(clock clock, moment time.Duration) (row lab.Sample, ok bool) {
	length := t.latest.at - t.row.at
	if t.row.n == 0 || length <= 0 {
		return lab.Sample{}, false
	}
	from, to := &t.row, &t.latest
	perMicrosecond := 1 / float64(length.Microseconds())
	row = lab.Sample{
		Role:              t.role,
		SampledAt:         clock.wall(min(moment, to.at)),
		WindowS:           length.Seconds(),
		CPUCores:          scaled(grown(from, to, cgroup.CPUUsec), perMicrosecond),
		MemoryBytes:       t.highest(cgroup.MemoryBytes),
		AnonBytes:         t.highest(cgroup.AnonBytes),
		FileBytes:         t.highest(cgroup.FileBytes),
		ShmemBytes:        t.highest(cgroup.ShmemBytes),
		ReadBytes:         grown(from, to, cgroup.ReadBytes),
		WriteBytes:        grown(from, to, cgroup.WriteBytes),
		ThrottledMS:       scaled(grown(from, to, cgroup.ThrottledUsec), 1e-3),
		CPUPressurePct:    scaled(grown(from, to, cgroup.CPUPressureUsec), 100*perMicrosecond),
		IOPressurePct:     scaled(grown(from, to, cgroup.IOPressureUsec), 100*perMicrosecond),
		MemoryPressurePct: scaled(grown(from, to, cgroup.MemoryPressureUsec), 100*perMicrosecond),
	}
	t.row, t.high = t.latest, reading{}
	return row, true
}

func (t *track) highest(gauge cgroup.Counter) *int64 {
	n, measured := t.high.Get(gauge)
	if !measured {
		return nil
	}
	return &n
}

// attach replaces the source. What was read before stays: the counters of a
// group go on when a server in it is started again.
func (t *track) attach(source source, counted string) {
	t.close()
	t.source, t.counted = source, counted
}

func (t *track) close() {
	if t.source != nil {
		_ = t.source.Close() // it was only read
		t.source = nil
	}
}

// remember takes over what an earlier process has read.
func (t *track) remember(past history, counted string) {
	t.history, t.counted = past, counted
	if len(past) > 0 {
		t.row = past[len(past)-1]
		t.latest = t.row
	}
}
