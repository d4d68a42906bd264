package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// AddUsage appends samples of an attempt to lab.usage.
func (s *Store) AddUsage(ctx context.Context, run string, attempt int, cluster string, samples []lab.Sample) error {
	err := s.copy(ctx, "usage", []string{
		"run", "attempt", "cluster", "role", "sampled_at", "window_s", "cpu_cores",
		"memory_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "read_bytes", "write_bytes",
		"throttled_ms", "cpu_pressure_pct", "io_pressure_pct", "memory_pressure_pct",
	}, len(samples), func(i int) ([]any, error) {
		u := samples[i]
		return []any{run, attempt, cluster, u.Role, u.SampledAt, u.WindowS, u.CPUCores,
			u.MemoryBytes, u.AnonBytes, u.FileBytes, u.ShmemBytes, u.ReadBytes, u.WriteBytes,
			u.ThrottledMS, u.CPUPressurePct, u.IOPressurePct, u.MemoryPressurePct}, nil
	})
	if err != nil {
		return fmt.Errorf("recording usage of run %q: %w", run, err)
	}
	return nil
}

// copy appends n rows to a table of schema lab, as patiently as exec.
func (s *Store) copy(ctx context.Context, table string, columns []string, n int, row func(int) ([]any, error)) error {
	return retry(ctx, func() error {
		_, err := s.pool.CopyFrom(ctx, pgx.Identifier{"lab", table}, columns, pgx.CopyFromSlice(n, row))
		return err
	})
}

// AddProgress appends pgbench's per-second lines of an attempt to lab.progress.
func (s *Store) AddProgress(ctx context.Context, run string, attempt int, lines []lab.Progress) error {
	columns := []string{"run", "attempt", "at", "tps", "latency_ms", "stddev_ms", "failed"}
	err := s.copy(ctx, "progress", columns, len(lines), func(i int) ([]any, error) {
		p := lines[i]
		return []any{run, attempt, p.At, p.TPS, p.LatencyMS, p.StddevMS, p.Failed}, nil
	})
	if err != nil {
		return fmt.Errorf("recording progress of run %q: %w", run, err)
	}
	return nil
}

// ProgressLines counts the lines of an attempt that are recorded already.
func (s *Store) ProgressLines(ctx context.Context, run string, attempt int) (n int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM lab.progress p WHERE p.run = $1 AND p.attempt = $2`, run, attempt).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting progress of run %q: %w", run, err)
	}
	return n, nil
}

// SaveRuntime writes what works on this host, and why not.
func (s *Store) SaveRuntime(ctx context.Context, name string, p lab.Probe) error {
	capabilities := p.Capabilities
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	_, err := s.exec(ctx,
		`INSERT INTO lab.runtimes (runtime, state, message, capabilities, probed_at)
		 VALUES ($1, $2, nullif($3, ''), $4, clock_timestamp())
		 ON CONFLICT (runtime) DO UPDATE SET state = excluded.state, message = excluded.message,
		        capabilities = excluded.capabilities, probed_at = excluded.probed_at`,
		name, p.Health, p.Message, capabilities)
	if err != nil {
		return fmt.Errorf("recording runtime %q: %w", name, err)
	}
	return nil
}
