package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"pglab/internal/testenv"
)

const (
	// teardown is how long after pgbench's end its sessions have surely ended, too.
	teardown = 150 * time.Millisecond

	mostAddedPct  = 2.0  // CPU per transaction
	leastSpeed    = 0.98 // what the interval of the tps ratio must reach
	mostPglabPct  = 1.0  // of one core
	mostUsageDiff = 1.0  // percent
	enoughWidth   = 0.01 // half an interval that no further pair is needed for
)

// arm is what one way of running pgbench gave, run by run.
type arm struct {
	tps     figures
	serving figures // CPU of server and client, us per transaction
	adding  figures // CPU of pglab and engine, us per transaction
}

func (a *arm) add(tps float64, transactions int64, serving, adding time.Duration) {
	perTransaction := func(used time.Duration) float64 {
		return float64(used) / float64(time.Microsecond) / float64(transactions)
	}
	a.tps = append(a.tps, tps)
	a.serving = append(a.serving, perTransaction(serving))
	a.adding = append(a.adding, perTransaction(adding))
}

// total is the CPU of everybody, us per transaction.
func (a *arm) total() figures {
	total := make(figures, len(a.serving))
	for i := range total {
		total[i] = a.serving[i] + a.adding[i]
	}
	return total
}

// runs is what the pairs of a run through the lab and one by hand gave.
type runs struct {
	*subject
	seconds   int
	lab, hand arm
	pglab     figures // during a window, % of a core
	engine    figures
	idle      figures // pglab and engine while pgbench ran by hand, % of a core
	shim      figures // us per transaction
	mistake   figures // of pg_cpu_seconds, %
	floor     figures // what ticks of the kernel's counter allow, %

	unmeasured int // runs without pg_cpu_seconds
}

// benchmarkRun compares runs through the lab with runs by hand, in pairs
// next to each other, until the comparison is close enough.
func benchmarkRun(b *testing.B, s *subject, table *report, size size) {
	r := &runs{subject: s, seconds: size.seconds}
	others := s.others(b)
	for pair := 1; pair <= size.mostPairs; pair++ {
		first, second := r.byHand, r.throughLab
		if pair%2 == 0 {
			first, second = second, first
		}
		first(b)
		second(b)
		last := len(r.hand.tps) - 1
		say("pair %d: tps by hand %.0f, through the lab %.0f; CPU us/tx %.1f, %.1f", pair,
			r.hand.tps[last], r.lab.tps[last], r.hand.serving[last], r.lab.total()[last])
		if pair >= size.leastPairs && paired(r.lab.total(), r.hand.serving).width() <= enoughWidth {
			break
		}
	}
	r.tabulateRuns(b, table)
	table.busy(b, others())
	long := &runs{subject: s, seconds: size.longSeconds}
	for n := range size.longRuns {
		long.throughLab(b)
		say("run %d of %d s: pglab used %.2f %% of a core", n+1, long.seconds, long.pglab[len(long.pglab)-1])
	}
	r.tabulateLab(b, table, long)
	r.tabulateUsage(b, table)
}

func (r *runs) byHand(b *testing.B) {
	b.Helper()
	run := r.newRun(r.seconds)
	r.prepareByHand(b)
	recording := record(r.cpu, time.Duration(r.seconds)*time.Second)
	made := r.runByHand(b, run)
	pause(b, teardown)
	recording.stop(b)
	serving := r.serving(b, recording, made.started, made.ended)
	r.hand.add(made.TPS, made.Transactions, serving, 0)
	all := recording.all()
	length := recording.at[len(recording.at)-1].Sub(recording.at[0])
	r.idle = append(r.idle, percent(all.pglab+all.engine, length))
}

// serving is the CPU of server and client. The server's is taken from the
// start of pgbench: what was prepared before is not part of the comparison.
func (r *runs) serving(b *testing.B, recording *recording, started, ended time.Time) time.Duration {
	b.Helper()
	life, err := recording.between(started, ended.Add(teardown*9/10))
	if err != nil {
		b.Fatal(err)
	}
	return life.server + recording.all().client()
}

// measured is what the lab says about a run.
type measured struct {
	TPS           float64
	Transactions  int64
	TaskStartedAt time.Time
	WindowStart   time.Time
	WindowEnd     time.Time
	PgCPUSeconds  *float64
	EdgeGapMS     string
	Warnings      string
}

func (r *runs) throughLab(b *testing.B) {
	b.Helper()
	recording := record(r.cpu, time.Duration(r.seconds)*time.Second)
	name := r.measure(b, r.seconds)
	pause(b, teardown)
	recording.stop(b)
	m := r.measured(b, name)

	all := recording.all()
	serving := r.serving(b, recording, m.TaskStartedAt, m.WindowEnd)
	shim := shimTime(b, testenv.Binary(b))
	r.lab.add(m.TPS, m.Transactions, serving, all.pglab+all.engine)
	r.shim = append(r.shim, float64(shim)/float64(time.Microsecond)/float64(m.Transactions))

	window, err := recording.between(m.WindowStart, m.WindowEnd)
	if err != nil {
		b.Fatal(err)
	}
	length := m.WindowEnd.Sub(m.WindowStart)
	r.pglab = append(r.pglab, percent(window.pglab, length))
	r.engine = append(r.engine, percent(window.engine, length))
	r.compareUsage(m, window)
}

func (r *runs) measured(b *testing.B, name string) (m measured) {
	b.Helper()
	err := r.room.QueryRow(b.Context(),
		`SELECT tps, transactions, task_started_at, window_start, window_end, pg_cpu_seconds,
		        coalesce(round(edge_gap_ms)::text, 'unknown'), coalesce(warnings::text, 'none')
		   FROM lab.measurements WHERE run = $1`, name).
		Scan(&m.TPS, &m.Transactions, &m.TaskStartedAt, &m.WindowStart, &m.WindowEnd, &m.PgCPUSeconds, &m.EdgeGapMS, &m.Warnings)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// compareUsage holds the lab's figure against the kernel's counter.
func (r *runs) compareUsage(m measured, window cpuTimes) {
	if m.PgCPUSeconds == nil { // readings around an edge were too far apart
		r.unmeasured++
		say("CPU of the server not measured; widest gap between readings %s ms, warnings: %s", m.EdgeGapMS, m.Warnings)
		return
	}
	kernel := window.server.Seconds()
	difference := 100 * (*m.PgCPUSeconds/kernel - 1)
	// Time of a running task shows at the tick, so both edges may lag by one on every CPU.
	const tick = 0.004
	r.mistake = append(r.mistake, max(difference, -difference))
	r.floor = append(r.floor, 100*2*tick*float64(runtime.NumCPU())/kernel)
}

func percent(used, length time.Duration) float64 { return 100 * float64(used) / float64(length) }

func (r *runs) tabulateRuns(b *testing.B, table *report) {
	b.Helper()
	hand, everything := r.hand.serving, paired(r.lab.total(), r.hand.serving)
	speed := paired(r.lab.tps, r.hand.tps)
	added := make(figures, len(hand))
	for i := range added {
		added[i] = 100 * (r.lab.adding[i] + r.shim[i]) / hand[i]
	}
	table.section(fmt.Sprintf("A run through the lab against the same pgbench by hand: %d pairs of %d s, ABBA; %s prepared, scale %d, %d clients",
		len(hand), r.seconds, builtin, scale, clients))
	table.add(b, row{what: "added CPU per transaction, counted", value: pct(added.median()), spread: spread(added, "%.2f"),
		bound: "<= 2 %", broken: added.median() > mostAddedPct})
	table.add(b, row{what: "  pglab and engine, us", value: us(r.lab.adding.median()), spread: spread(r.lab.adding, "%.3f")})
	table.add(b, row{what: "  shim around pgbench, us", value: us(r.shim.median()), spread: spread(r.shim, "%.3f")})
	table.add(b, row{what: "CPU per transaction by hand, us", value: us(hand.median()), spread: spread(hand, "%.2f")})
	table.add(b, row{what: "  through the lab, all of it, us", value: us(r.lab.total().median()), spread: spread(r.lab.total(), "%.2f")})
	table.add(b, row{what: "  ratio within pairs, mean", value: fmt.Sprintf("%.3f", everything.mean), spread: interval(everything),
		bound: "low end <= 1.02", broken: everything.low > 1+mostAddedPct/100})
	table.add(b, row{what: "tps by hand", value: fmt.Sprintf("%.0f", r.hand.tps.median()), spread: spread(r.hand.tps, "%.0f")})
	table.add(b, row{what: "  through the lab", value: fmt.Sprintf("%.0f", r.lab.tps.median()), spread: spread(r.lab.tps, "%.0f")})
	table.add(b, row{what: "  ratio within pairs, mean", value: fmt.Sprintf("%.3f", speed.mean), spread: interval(speed),
		bound: "high end >= 0.98", broken: speed.high < leastSpeed})
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(added.median(), "%-added-cpu")
	b.ReportMetric(speed.mean, "tps-ratio")
}

// tabulateLab shows what pglab uses beside a run as long as runs are unless
// somebody says otherwise, and beside the short runs of the pairs: of these,
// four seconds are sampled fifty times a second.
func (r *runs) tabulateLab(b *testing.B, table *report, long *runs) {
	b.Helper()
	table.section("The lab's own CPU in the window of a run, in % of one core")
	table.add(b, row{what: fmt.Sprintf("pglab: sampler, progress, controller; %d s", long.seconds), value: pct(long.pglab.median()), spread: spread(long.pglab, "%.2f"),
		bound: "<= 1 %", broken: long.pglab.median() > mostPglabPct})
	table.add(b, row{what: fmt.Sprintf("  the same in runs of %d s", r.seconds), value: pct(r.pglab.median()), spread: spread(r.pglab, "%.2f")})
	table.add(b, row{what: "engine", value: pct(r.engine.median()), spread: spread(r.engine, "%.2f")})
	table.add(b, row{what: "both while idle", value: pct(r.idle.median()), spread: spread(r.idle, "%.2f")})
}

func (r *runs) tabulateUsage(b *testing.B, table *report) {
	b.Helper()
	table.section("pg_cpu_avg against the kernel's counter, read by the benchmark around the same window")
	table.add(b, row{what: "difference, either way", value: pct(r.mistake.median()),
		spread: fmt.Sprintf("worst %.2f, tick floor %.2f", r.mistake.quantile(1), r.floor.median()),
		bound:  "<= 1 %", broken: !(r.mistake.median() <= mostUsageDiff)})
	// The lab prefers no figure to one that the readings around an edge cannot bear out.
	table.add(b, row{what: "runs without pg_cpu_avg", value: fmt.Sprintf("%d of %d", r.unmeasured, len(r.lab.tps)),
		bound: "fewer than half", broken: 2*r.unmeasured >= len(r.lab.tps)})
}

func pct(n float64) string { return fmt.Sprintf("%.2f %%", n) }
func us(n float64) string  { return fmt.Sprintf("%.3f", n) }

// spread is what lies around a median: the middle eight tenths.
func spread(f figures, format string) string {
	return fmt.Sprintf("p10 "+format+", p90 "+format, f.quantile(0.1), f.quantile(0.9))
}

func interval(r ratio) string { return fmt.Sprintf("95 %%: %.3f to %.3f", r.low, r.high) }
