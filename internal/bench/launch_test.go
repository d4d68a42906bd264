package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// launchSeconds is the length of short runs: their window is known by a
// progress line, which runs of one second may end before.
const launchSeconds = 2

const (
	mostLaunchMS = 250.0
	mostGapMS    = 250.0
)

// benchmarkLaunch times the way from an INSERT to a pgbench that runs, with
// the data set there.
func benchmarkLaunch(b *testing.B, s *subject, table *report, size size) {
	others := s.others(b)
	var whole, queuing, preparing, byHand figures
	for range size.launches {
		before := time.Now()
		s.prepareByHand(b)
		byHand = append(byHand, milliseconds(time.Since(before)))
		before = time.Now()
		name := s.measure(b, launchSeconds)
		var launched, started time.Time
		err := s.room.QueryRow(b.Context(), `SELECT launched_at, task_started_at FROM lab.measurements WHERE run = $1`, name).
			Scan(&launched, &started)
		if err != nil {
			b.Fatal(err)
		}
		whole = append(whole, milliseconds(started.Sub(before)))
		queuing = append(queuing, milliseconds(launched.Sub(before)))
		preparing = append(preparing, milliseconds(started.Sub(launched)))
	}
	table.section(fmt.Sprintf("INSERT INTO lab.runs and lab.launches until pgbench runs, data set there: %d runs, ms", len(whole)))
	table.add(b, row{what: "until pgbench runs", value: ms(whole.median()), spread: tail(whole),
		bound: "<= 250 ms", broken: whole.median() > mostLaunchMS})
	table.add(b, row{what: "  the two statements, until the lane is taken", value: ms(queuing.median()), spread: tail(queuing)})
	table.add(b, row{what: "  vacuum, checkpoint, start of pgbench", value: ms(preparing.median()), spread: tail(preparing)})
	table.add(b, row{what: "  session, vacuum, checkpoint by hand", value: ms(byHand.median()), spread: tail(byHand)})
	table.busy(b, others())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(whole.median(), "ms-to-start")
}

// benchmarkGap times what lies between runs that wait in a lane which
// launches by itself.
func benchmarkGap(b *testing.B, s *subject, table *report, size size) {
	const lane = "gap"
	others := s.others(b)
	s.exec(b, `INSERT INTO lab.lanes (lane, autolaunch) VALUES ($1, false)`, lane)
	last := ""
	for range size.launches {
		run := s.newRun(launchSeconds)
		s.queue(b, run, lane)
		last = run.Run
	}
	s.exec(b, `UPDATE lab.lanes SET autolaunch = true WHERE lane = $1`, lane)
	s.awaitDone(b, last, lane)
	rows, err := s.room.Query(b.Context(),
		`SELECT 1000 * extract(epoch FROM next - window_end)::float8
		   FROM (SELECT window_end, lead(task_started_at) OVER (ORDER BY task_started_at) AS next
		           FROM lab.measurements WHERE lane = $1) AS runs
		  WHERE next IS NOT NULL AND window_end IS NOT NULL`, lane)
	if err != nil {
		b.Fatal(err)
	}
	gaps, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	if err != nil {
		b.Fatal(err)
	}
	between := figures(gaps)
	table.section(fmt.Sprintf("Between two runs of an autolaunch lane: %d gaps, ms", len(between)))
	table.add(b, row{what: "end of a window until the next pgbench runs", value: ms(between.median()), spread: tail(between),
		bound: "<= 250 ms", broken: between.median() > mostGapMS || len(between) < size.launches-1})
	table.busy(b, others())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(between.median(), "ms-gap")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ms(n float64) string { return fmt.Sprintf("%.0f ms", n) }

// tail is the spread of times that people wait for.
func tail(f figures) string {
	return fmt.Sprintf("p10 %.0f, p90 %.0f, max %.0f", f.quantile(0.1), f.quantile(0.9), f.quantile(1))
}
