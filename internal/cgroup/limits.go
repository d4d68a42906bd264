package cgroup

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Limits are the limits of a process's own groups, as the kernel holds them.
// Limits of groups above are not looked at. Nil: no limit.
type Limits struct {
	CPUQuotaUsec  *int64 // CPU time per period, microseconds
	CPUPeriodUsec *int64 // set whenever the quota is
	MemoryBytes   *int64
}

// CPUs is the CPU limit in CPUs, nil without one.
func (l Limits) CPUs() *float64 {
	if l.CPUQuotaUsec == nil || l.CPUPeriodUsec == nil {
		return nil
	}
	cpus := float64(*l.CPUQuotaUsec) / float64(*l.CPUPeriodUsec)
	return &cpus
}

// unlimited is what v1 shows when no memory limit is set: the largest whole
// number of pages, whatever their size.
const unlimited = math.MaxInt64 / 2

// Limits reads the limits back. A controller that is not enabled for the
// process limits nothing.
func (g Groups) Limits() (Limits, error) {
	var limits Limits
	var err error
	if group, ok := g.Of("cpu"); ok {
		if limits.CPUQuotaUsec, limits.CPUPeriodUsec, err = group.cpuLimit(); err != nil {
			return Limits{}, fmt.Errorf("reading the CPU limit: %w", err)
		}
	}
	if group, ok := g.Of("memory"); ok {
		name := "memory.max"
		if group.Version == 1 {
			name = "memory.limit_in_bytes"
		}
		if limits.MemoryBytes, err = group.limit(name); err != nil {
			return Limits{}, fmt.Errorf("reading the memory limit: %w", err)
		}
	}
	return limits, nil
}

func (g Group) cpuLimit() (quota, period *int64, err error) {
	if g.Version == 1 {
		if quota, err = g.limit("cpu.cfs_quota_us"); err != nil || quota == nil {
			return nil, nil, err
		}
		period, err = g.limit("cpu.cfs_period_us")
		return quota, period, err
	}
	text, err := g.text("cpu.max") // "50000 100000", "max 100000"
	if err != nil || text == "" {
		return nil, nil, err
	}
	first, second, _ := strings.Cut(text, " ")
	if quota, err = parseLimit(first); err != nil || quota == nil {
		return nil, nil, err
	}
	period, err = parseLimit(second)
	return quota, period, err
}

func (g Group) limit(name string) (*int64, error) {
	text, err := g.text(name)
	if err != nil || text == "" {
		return nil, err
	}
	return parseLimit(text)
}

// text is a small file's content; empty when it does not exist.
func (g Group) text(name string) (string, error) {
	text, err := os.ReadFile(g.Dir + "/" + name)
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func parseLimit(text string) (*int64, error) {
	if text == "max" || text == "-1" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	if n > unlimited {
		return nil, nil
	}
	return &n, nil
}
