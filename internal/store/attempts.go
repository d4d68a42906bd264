package store

import (
	"fmt"
	"strings"

	"pglab/internal/lab"
)

// attemptUpdate builds the statement that writes an outcome into
// lab_private.attempts.
func attemptUpdate(run string, attempt int, outcome lab.Outcome) (sql string, args []any) {
	args = []any{run, attempt}
	var sets []string
	for _, column := range attemptColumns(outcome) {
		args = append(args, column.value)
		sets = append(sets, fmt.Sprintf("%s = $%d", column.name, len(args)))
	}
	return "UPDATE lab_private.attempts a SET " + strings.Join(sets, ", ") + " WHERE a.run = $1 AND a.attempt = $2", args
}

type column struct {
	name  string
	value any
}

func attemptColumns(outcome lab.Outcome) []column {
	columns := []column{{"warnings", outcome.Warnings}}
	if !outcome.TaskStartedAt.IsZero() {
		columns = append(columns, column{"task_started_at", outcome.TaskStartedAt})
	}
	if outcome.Summary != nil {
		columns = append(columns, summaryColumns(*outcome.Summary)...)
	}
	if outcome.Server.Source != "" {
		columns = append(columns,
			column{"usage_source", outcome.Server.Source},
			column{"samples", outcome.Server.Samples},
			column{"edge_gap_ms", outcome.Server.EdgeGapMS})
	}
	return append(append(columns, serverColumns(outcome.Server)...), clientColumns(outcome.Client)...)
}

func summaryColumns(s lab.Summary) []column {
	columns := []column{
		{"client_version", s.ClientVersion},
		{"transaction_type", s.TransactionType},
		{"data_scale", s.Scale},
		{"transactions", s.Transactions},
		{"failed", s.Failed},
		{"retried", s.Retried},
		{"skipped", s.Skipped},
		{"tps", s.TPS},
		{"latency_ms", s.LatencyMS},
		{"latency_stddev_ms", s.LatencyStddevMS},
		{"schedule_lag_ms", s.ScheduleLagMS},
		{"schedule_lag_max_ms", s.ScheduleLagMaxMS},
		{"connect_ms", s.ConnectMS},
	}
	if !s.WindowEnd.IsZero() {
		columns = append(columns,
			column{"window_start", s.WindowStart},
			column{"window_end", s.WindowEnd},
			column{"window_s", s.WindowEnd.Sub(s.WindowStart).Seconds()})
	}
	return columns
}

func serverColumns(u lab.Usage) []column {
	return []column{
		{"pg_cpu_seconds", u.CPUSeconds},
		{"pg_cpu_user_seconds", u.UserSeconds},
		{"pg_cpu_system_seconds", u.SystemSeconds},
		{"pg_cpu_avg", u.CPUAvg},
		{"pg_cpu_peak", u.CPUPeak},
		{"pg_periods", u.Periods},
		{"pg_throttled_periods", u.ThrottledPeriods},
		{"pg_throttled_ms", u.ThrottledMS},
		{"pg_memory_peak_bytes", u.MemoryPeakBytes},
		{"pg_anon_peak_bytes", u.AnonPeakBytes},
		{"pg_file_peak_bytes", u.FilePeakBytes},
		{"pg_shmem_peak_bytes", u.ShmemPeakBytes},
		{"pg_read_bytes", u.ReadBytes},
		{"pg_write_bytes", u.WriteBytes},
		{"pg_cpu_pressure_pct", u.CPUPressurePct},
		{"pg_io_pressure_pct", u.IOPressurePct},
		{"pg_memory_pressure_pct", u.MemoryPressurePct},
		{"pg_oom_kills", u.OOMKills},
	}
}

func clientColumns(u lab.Usage) []column {
	return []column{
		{"pgbench_cpu_seconds", u.CPUSeconds},
		{"pgbench_cpu_avg", u.CPUAvg},
		{"pgbench_cpu_peak", u.CPUPeak},
		{"pgbench_periods", u.Periods},
		{"pgbench_throttled_periods", u.ThrottledPeriods},
		{"pgbench_throttled_ms", u.ThrottledMS},
		{"pgbench_memory_peak_bytes", u.MemoryPeakBytes},
	}
}
