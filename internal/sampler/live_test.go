package sampler

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

// busy starts a process that keeps one CPU busy, in control groups of its own.
func busy(tb testing.TB, name string) lab.UsageHandle {
	tb.Helper()
	cmd := exec.Command("sh", "-c", "read go; while :; do :; done")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	dirs, source := makeGroups(tb, name)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	pid := cmd.Process.Pid
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, dir := range dirs {
			until(tb, "group "+dir+" is removed", func() bool { return os.Remove(dir) == nil })
		}
	})
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		tb.Fatal(err)
	}
	return lab.UsageHandle{Source: source, PID: pid}
}

// makeGroups makes a group in every hierarchy of this machine that counts.
func makeGroups(tb testing.TB, name string) (dirs []string, source string) {
	tb.Helper()
	mounts, err := cgroup.Host{}.Mounts()
	if err != nil {
		tb.Fatal(err)
	}
	source = lab.SourceCgroupV2
	if slices.ContainsFunc(mounts, func(m cgroup.Mount) bool { return slices.Contains(m.Controllers, "cpuacct") }) {
		source = lab.SourceCgroupV1
	}
	for _, mount := range mounts {
		counts := slices.ContainsFunc(mount.Controllers, func(controller string) bool {
			return slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio"}, controller)
		})
		if counts != (source == lab.SourceCgroupV1) {
			continue
		}
		dir := filepath.Join(mount.Point, fmt.Sprintf("pglab-sampler-%d-%s", os.Getpid(), name))
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs, source
}

func until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(60 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			tb.Errorf("not within 60 s: %s", what)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kernel reads the CPU counter itself, and when.
type kernel struct {
	reader *cgroup.Reader
}

func (k kernel) read(t *testing.T) (at time.Time, usec int64) {
	t.Helper()
	var counters cgroup.Counters
	at = time.Now()
	if err := k.reader.Read(&counters); err != nil {
		t.Fatal(err)
	}
	usec, _ = counters.Get(cgroup.CPUUsec)
	return at, usec
}

func newKernel(t *testing.T, handle lab.UsageHandle) kernel {
	t.Helper()
	reader, err := cgroup.Open(cgroup.Host{}, handle.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return kernel{reader}
}

// The window's usage and the kernel's counter read at the same instants agree
// to 1 %: also for a window that lies where readings are 100 ms apart.
func TestUsageAgreesWithTheKernel(t *testing.T) {
	server, client := busy(t, "server"), busy(t, "client")
	var rows collector
	s := start(t, Config{Sink: rows.add})
	for role, handle := range map[string]lab.UsageHandle{lab.RolePostgres: server, lab.RolePgbench: client} {
		if err := s.Attach(role, handle); err != nil {
			t.Fatal(err)
		}
	}
	kernel := newKernel(t, server)
	// A machine that stands still for a quarter of a second at an edge makes
	// the window's usage unknown, but not three times in a row.
	for attempt := 1; ; attempt++ {
		startAt, before := kernel.read(t)
		until(t, "4 s of wall time", func() bool { return time.Since(startAt) > 4*time.Second })
		endAt, after := kernel.read(t)
		s.Final()
		usage, _ := s.Window(startAt, endAt)
		exact := float64(after-before) / 1e6
		if usage.CPUSeconds != nil {
			off := *usage.CPUSeconds/exact - 1
			t.Logf("%.4f s of CPU, the kernel says %.4f s: %.2f %% off; %d readings, gap %.0f ms",
				*usage.CPUSeconds, exact, 100*off, usage.Samples, usage.EdgeGapMS)
			if math.Abs(off) <= 0.01 {
				break
			}
		}
		if attempt == 3 {
			t.Fatalf("usage %+v, the kernel says %.4f s", usage, exact)
		}
	}
	s.Close()
	rows.check(t)
}

func start(tb testing.TB, config Config) *Sampler {
	tb.Helper()
	config.Log = slog.New(slog.DiscardHandler)
	s, err := Start(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

type collector struct {
	mu   sync.Mutex
	rows []lab.Sample
}

func (c *collector) add(rows []lab.Sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows = append(c.rows, rows...)
}

// check wants rows of both roles over nearly all of four seconds; the last
// ones may be too short to be rows.
func (c *collector) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, role := range []string{lab.RolePostgres, lab.RolePgbench} {
		var cores, seconds float64
		for _, row := range c.rows {
			if row.Role == role {
				if row.CPUCores == nil || row.MemoryBytes == nil {
					t.Fatalf("row without CPU or memory: %+v", row)
				}
				seconds += row.WindowS
				cores += *row.CPUCores * row.WindowS
			}
		}
		if seconds < 3.5 || cores/seconds < 0.05 || cores/seconds > 1.05 {
			t.Errorf("%s: rows over %.2f s say %.2f cores", role, seconds, cores/seconds)
		}
	}
}

// A sampler that dies is followed by one that knows what the first has read.
func TestResumeKeepsTheWindow(t *testing.T) {
	handle := busy(t, "resumed")
	kernel := newKernel(t, handle)
	journal := filepath.Join(t.TempDir(), "journal")

	first := start(t, Config{Journal: journal})
	if err := first.Attach(lab.RolePostgres, handle); err != nil {
		t.Fatal(err)
	}
	until(t, "some readings", func() bool { return readings(first) > 5 })
	startAt, before := kernel.read(t)
	until(t, "readings after the start of the window", func() bool { return readings(first) > 20 })
	first.Close()
	// The end of a process can leave half a line.
	tearLine(t, journal)

	second, err := Resume(Config{Journal: journal, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Attach(lab.RolePostgres, handle); err != nil {
		t.Fatal(err)
	}
	known := readings(second)
	if known < 20 {
		t.Fatalf("%d readings are known after the restart", known)
	}
	until(t, "readings by the second", func() bool { return readings(second) > known+100 })
	endAt, after := kernel.read(t)
	second.Final()
	usage, client := second.Window(startAt, endAt)
	exact := float64(after-before) / 1e6
	if usage.CPUSeconds == nil {
		t.Fatalf("usage %+v is not measured", usage)
	}
	// One tick, and the interpolation's share, for each edge.
	t.Logf("%.4f s of CPU, the kernel says %.4f s", *usage.CPUSeconds, exact)
	if math.Abs(*usage.CPUSeconds-exact) > 0.1 {
		t.Errorf("%.4f s of CPU, the kernel says %.4f s", *usage.CPUSeconds, exact)
	}
	if client != (lab.Usage{}) {
		t.Errorf("client %+v, want nothing", client)
	}
	second.Close()

	// And both have written a journal that reads as one.
	past, err := readJournal(journal)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(past.history[lab.RolePostgres]); got != readings(second) {
		t.Errorf("%d readings in the journal, %d in memory", got, readings(second))
	}
}

func readings(s *Sampler) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tracks[0].history)
}

func tearLine(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("postgres 99999999 1 5 7"); err != nil {
		t.Fatal(err)
	}
}

func TestResumeWithoutAUsableJournalStartsAnew(t *testing.T) {
	for name, content := range map[string]string{
		"absent":       "",
		"garbage":      "\x00\x00\x00",
		"another boot": fmt.Sprintf("pglab-readings 1 5 %d cpu_usec\n", math.MaxInt64),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			if content != "" {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := Resume(Config{Journal: path, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			text, err := os.ReadFile(path)
			if err != nil || !strings.HasPrefix(string(text), journalMagic) {
				t.Errorf("the new journal is %q, %v", text, err)
			}
		})
	}
}

func TestFullDiskCostsOnlyTheJournal(t *testing.T) {
	var log strings.Builder
	s, err := Start(Config{Journal: filepath.Join(t.TempDir(), "journal"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // before anything is attached nothing is written
	_ = s.file.Close()
	s.file = full
	s.mu.Unlock()
	if err := s.Attach(lab.RolePostgres, lab.UsageHandle{Source: lab.SourceProc, PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	until(t, "readings", func() bool { return readings(s) > 10 })
	s.Close()
	if got := strings.Count(log.String(), "readings are kept in memory only"); got != 1 {
		t.Errorf("%d warnings, want 1:\n%s", got, log.String())
	}
}

// The cost of a reading of both roles, journal and rows included, in CPU time
// of the whole process.
func BenchmarkSample(b *testing.B) {
	s := start(b, Config{Journal: filepath.Join(b.TempDir(), "journal"), Sink: func([]lab.Sample) {}})
	for role, handle := range map[string]lab.UsageHandle{lab.RolePostgres: busy(b, "server"), lab.RolePgbench: busy(b, "client")} {
		if err := s.Attach(role, handle); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		s.mu.Lock()
		s.sample()
		s.mu.Unlock()
	}
	perSample := (cpuTime(b) - before) / time.Duration(b.N)
	b.ReportMetric(float64(perSample.Microseconds()), "cpu-us/sample")
	b.ReportMetric(100*perSample.Seconds()*10, "%core-at-10Hz")
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
