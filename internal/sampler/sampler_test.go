package sampler

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a source that says what a test tells it to.
type script struct {
	counters cgroup.Counters
	err      error
	closed   bool
}

func (s *script) Read(into *cgroup.Counters) error {
	*into = s.counters
	return s.err
}

func (s *script) Close() error {
	s.closed = true
	return nil
}

// hand is a sampler whose clock and readings are moved by hand.
type hand struct {
	*Sampler
	now            time.Duration
	server, client *script
	rows           []lab.Sample
}

func newHand(t *testing.T) *hand {
	t.Helper()
	h := &hand{server: &script{}, client: &script{}}
	clock := clock{zero: time.Unix(1_800_000_000, 0), elapsed: func() time.Duration { return h.now }}
	h.Sampler = newSampler(Config{Log: slog.New(slog.DiscardHandler)}, clock)
	h.tracks[0].attach(h.server, lab.SourceCgroupV2)
	h.Sampler.rows = newOutbox(func(rows []lab.Sample) { h.rows = append(h.rows, rows...) })
	t.Cleanup(func() { h.delivered() })
	return h
}

// until samples every 100 ms up to a moment; the server uses half a core.
func (h *hand) until(moment time.Duration) {
	for ; h.now <= moment; h.now += 100 * ms {
		h.server.counters.Set(cgroup.CPUUsec, h.now.Microseconds()/2)
		h.server.counters.Set(cgroup.MemoryBytes, h.now.Milliseconds()%300)
		h.client.counters.Set(cgroup.CPUUsec, h.now.Microseconds()/4)
		h.sample()
	}
}

// delivered ends the delivery of rows and returns them.
func (h *hand) delivered() []lab.Sample {
	if h.Sampler.rows != nil {
		h.Sampler.rows.close()
		h.Sampler.rows = nil
	}
	return h.rows
}

func (h *hand) wall(at time.Duration) time.Time { return h.clock.wall(at) }

func TestClientComesLaterAndGoesEarlier(t *testing.T) {
	h := newHand(t)
	h.until(900 * ms)
	h.tracks[1].attach(h.client, lab.SourceCgroupV2)
	h.until(5000 * ms)
	h.client.err, h.client.counters = cgroup.ErrVanished, cgroup.Counters{}
	h.until(7000 * ms)
	server, client := h.Window(h.wall(950*ms), h.wall(5050*ms))
	assertCores(t, "server", server.CPUAvg, 0.5)
	// 50 ms before its first reading and 50 ms after its last one are not seen.
	if client.CPUSeconds == nil || *client.CPUSeconds != 1 || client.EdgeGapMS != 50 || client.Source != lab.SourceCgroupV2 {
		t.Errorf("client %+v, want 1 s of CPU with a gap of 50 ms", client)
	}
}

func assertCores(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if diff := cmp.Diff(&want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("%s in cores (-want +got):\n%s", what, diff)
	}
}

func TestNothingAttachedIsNothingMeasured(t *testing.T) {
	h := newHand(t)
	h.until(3000 * ms)
	if _, client := h.Window(h.wall(0), h.wall(2000*ms)); client != (lab.Usage{}) {
		t.Errorf("client %+v, want nothing", client)
	}
}

func TestRowsComeEverySecondForBothRoles(t *testing.T) {
	h := newHand(t)
	h.tracks[1].attach(h.client, lab.SourceCgroupV2)
	h.until(3000 * ms)
	var want []lab.Sample
	for second := 1; second <= 3; second++ {
		at := h.wall(time.Duration(second) * time.Second)
		want = append(want,
			lab.Sample{Role: lab.RolePostgres, SampledAt: at, WindowS: 1, CPUCores: new(0.5), MemoryBytes: new(int64(200))},
			lab.Sample{Role: lab.RolePgbench, SampledAt: at, WindowS: 1, CPUCores: new(0.25)})
	}
	if diff := cmp.Diff(want, h.delivered()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestLongRunsKeepOneReadingASecondInTheirMiddle(t *testing.T) {
	h := newHand(t)
	h.Expect(h.wall(3600 * time.Second))
	h.until(3600 * time.Second)
	if kept := len(h.tracks[0].history); kept > 11_000 {
		t.Errorf("%d readings kept of 36001", kept)
	}
	server, _ := h.Window(h.wall(time.Second), h.wall(3599*time.Second))
	assertCores(t, "average", server.CPUAvg, 0.5)
	assertCores(t, "peak", server.CPUPeak, 0.5)
	if server.Samples != 35_981 {
		t.Errorf("%d samples, want all 35981 that were taken", server.Samples)
	}
	if server.MemoryPeakBytes == nil || *server.MemoryPeakBytes != 200 {
		t.Errorf("memory peak %v, want 200: that of readings which were not kept too", server.MemoryPeakBytes)
	}
}

func TestAttachAgainReplacesTheSource(t *testing.T) {
	h := newHand(t)
	h.until(1000 * ms)
	first := h.server
	h.server = &script{}
	h.tracks[0].attach(h.server, lab.SourceProc)
	h.until(3000 * ms)
	if !first.closed {
		t.Error("the first source is still open")
	}
	// A new process starts to count at nothing.
	h.server.counters = cgroup.Counters{}
	h.server.counters.Set(cgroup.CPUUsec, 5)
	h.sample()
	if server, _ := h.Window(h.wall(500*ms), h.wall(3050*ms)); server.CPUSeconds != nil {
		t.Errorf("CPU of %v s over a counter that was set back", *server.CPUSeconds)
	}
}

func TestAttachSaysWhatCannotBeMeasured(t *testing.T) {
	s, err := Start(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, handle := range map[string]lab.UsageHandle{
		"no source":       {},
		"unknown source":  {Source: "metrics", PID: 1},
		"no such process": {Source: lab.SourceProc, PID: 1 << 30},
	} {
		if err := s.Attach(lab.RolePostgres, handle); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSamplerSurvivesItsEnd(t *testing.T) {
	var mu sync.Mutex
	var rows int
	s, err := Start(Config{Log: slog.New(slog.DiscardHandler), Sink: func(batch []lab.Sample) {
		mu.Lock()
		defer mu.Unlock()
		rows += len(batch)
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	s.Final()
	s.Expect(time.Now())
	s.Window(time.Now().Add(-time.Second), time.Now())
	if rows != 0 {
		t.Errorf("%d rows of nothing", rows)
	}
}
