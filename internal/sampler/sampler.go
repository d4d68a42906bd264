package sampler

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

// Config is what a Sampler works with.
type Config struct {
	// Journal is the path of a file for the readings, from which Resume goes
	// on after a restart. It is not removed. Empty: no journal.
	Journal string
	// Sink receives rows as they are complete, usually two a second. It may
	// be slow or stand still: rows then come together later. Nil: no rows.
	Sink func([]lab.Sample)
	Log  *slog.Logger
}

// Sampler reads the counters of one attempt's server and client until it is
// closed. Its methods may be called from any goroutine.
type Sampler struct {
	log  *slog.Logger
	host cgroup.Host

	mu     sync.Mutex
	clock  clock
	pace   pace
	rowDue time.Duration
	// gaugesDue is when memory is read again: ten times a second at most.
	gaugesDue time.Duration
	tracks    [2]*track
	lines     []byte // for the journal, until the next flush
	closed    bool

	rows    *outbox[lab.Sample] // nil without a sink
	journal *outbox[byte]       // nil without a journal
	file    *os.File
	broken  bool // of the journal's goroutine: the file cannot be written

	stop chan struct{}
	done chan struct{}
}

// Start begins to sample an attempt, with nothing attached yet. Attach the
// server before the client is started: readings from before the window are
// what its start is known by.
func Start(config Config) (*Sampler, error) {
	clock, err := newClock()
	if err != nil {
		return nil, err
	}
	s := newSampler(config, clock)
	if config.Journal != "" {
		if s.file, err = createJournal(config.Journal, clock); err != nil {
			return nil, err
		}
	}
	s.begin(config)
	return s, nil
}

// Resume goes on with the journal that an earlier process left for the same
// attempt. Roles have to be attached again. Without a journal that can be
// used it does the same as Start.
func Resume(config Config) (*Sampler, error) {
	past, err := readJournal(config.Journal)
	if err != nil {
		if !absent(err) {
			config.Log.Warn("readings from before are lost", "err", err)
		}
		return Start(config)
	}
	clock, err := resumeClock(past.zero, past.boot)
	if err != nil {
		config.Log.Warn("readings from before are lost", "journal", config.Journal, "err", err)
		return Start(config)
	}
	s := newSampler(config, clock)
	for _, track := range s.tracks {
		track.remember(past.history[track.role], past.counted[track.role])
	}
	if s.file, err = continueJournal(config.Journal, past.whole); err != nil {
		return nil, err
	}
	s.begin(config)
	return s, nil
}

func newSampler(config Config, clock clock) *Sampler {
	return &Sampler{
		log:    config.Log,
		clock:  clock,
		rowDue: clock.elapsed() + rowInterval,
		tracks: [2]*track{{role: lab.RolePostgres}, {role: lab.RolePgbench}},
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
}

func (s *Sampler) begin(config Config) {
	if config.Sink != nil {
		s.rows = newOutbox(func(rows []lab.Sample) { config.Sink(slices.Clone(rows)) })
	}
	if s.file != nil {
		s.journal = newOutbox(s.write)
	}
	go s.run()
}

// write appends to the journal. One that cannot be written, on a full disk,
// costs the readings only if this process does not live to the end of the run.
func (s *Sampler) write(lines []byte) {
	if s.broken {
		return
	}
	if _, err := s.file.Write(lines); err != nil {
		s.broken = true
		s.log.Warn("readings are kept in memory only", "err", err)
	}
}

// Attach begins to read a role (lab.RolePostgres, lab.RolePgbench), at once.
// The error says in words why its usage cannot be measured; the sampler goes
// on without it.
func (s *Sampler) Attach(role string, handle lab.UsageHandle) error {
	source, counted, err := open(s.host, handle)
	if err != nil {
		return fmt.Errorf("usage of %s is not measured: %w", role, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return source.Close()
	}
	for _, track := range s.tracks {
		if track.role == role {
			track.attach(source, counted)
			if s.journal != nil {
				s.lines = appendCounted(s.lines, role, counted)
			}
		}
	}
	s.pace.attached = s.clock.elapsed()
	s.sample()
	s.flush()
	return nil
}

// open opens what a handle names, and says by what it is counted.
func open(host cgroup.Host, handle lab.UsageHandle) (source, string, error) {
	switch handle.Source {
	case lab.SourceCgroupV1, lab.SourceCgroupV2:
		reader, err := cgroup.Open(host, handle.PID)
		if err != nil {
			return nil, "", err
		}
		counted := handle.Source
		switch reader.Version() {
		case 1:
			counted = lab.SourceCgroupV1
		case 2:
			counted = lab.SourceCgroupV2
		}
		return reader, counted, nil
	case lab.SourceProc:
		tree, err := cgroup.OpenTree(host, handle.PID)
		if err != nil {
			return nil, "", err
		}
		return tree, lab.SourceProc, nil
	}
	return nil, "", fmt.Errorf("its runtime names no counters that can be read here")
}

// Expect tells when the run will end, by its own plan: around that moment
// readings are dense.
func (s *Sampler) Expect(end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.end = s.clock.of(end)
}

// Final takes a reading now. Call it as soon as the client has ended: the
// end of the window is known by the readings around it.
func (s *Sampler) Final() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.sample()
	for _, track := range s.tracks {
		s.keep(track)
	}
	s.flush()
}

// Window is what server and client used between two moments of wall time, as
// pgbench tells them. What was not measured, or not closely enough at the
// edges, is nil.
func (s *Sampler) Window(start, end time.Time) (server, client lab.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var usages [2]lab.Usage
	for i, track := range s.tracks {
		if len(track.history) > 0 {
			usages[i] = track.history.usage(s.clock.of(start), s.clock.of(end))
			usages[i].Source = track.counted
		}
	}
	return usages[0], usages[1]
}

// Close ends sampling and returns when the sink has received every row.
// Window still answers.
func (s *Sampler) Close() {
	if !s.end() {
		return
	}
	close(s.stop)
	<-s.done
	for _, track := range s.tracks {
		if track.latest.at-track.row.at >= shortestRow {
			s.endRow(track, track.latest.at)
		}
		track.close()
	}
	if s.journal != nil {
		s.flush()
		s.journal.close()
		_ = s.file.Close() // every write was checked
	}
	if s.rows != nil {
		s.rows.close()
	}
}

// end keeps everybody from reading and recording any more; only the first
// call is true.
func (s *Sampler) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.closed
	s.closed = true
	return first
}
