package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pglab/internal/lab"
)

// limits of a group. Zero values: no limit.
type limits struct {
	cpu    int64  // thousandths of a CPU
	memory int64  // bytes
	cpuset string // "0-1,3"
}

func serverLimits(spec lab.ServerSpec) limits {
	return limits{cpu: spec.CPU, memory: spec.Memory, cpuset: spec.Cpuset}
}

var cpusetForm = regexp.MustCompile(`^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$`)

// check tells in words which limit cannot be enforced here.
func (g *ground) check(asked limits) error {
	for _, limit := range []struct {
		column, controller string
		asked              bool
	}{
		{"cpu", "cpu", asked.cpu != 0},
		{"memory", "memory", asked.memory != 0},
		{"cpuset", "cpuset", asked.cpuset != ""},
	} {
		if limit.asked && !g.has(limit.controller) {
			reason := g.trouble
			if reason == "" {
				reason = "this host has no " + limit.controller + " controller for us"
			}
			return lab.Unsupported("%s cannot be limited here (%s); run pglab as root or give it a delegated cgroup "+
				"(systemd: Delegate=yes), or leave %s NULL", limit.column, reason, limit.column)
		}
	}
	if asked.cpuset != "" && !cpusetForm.MatchString(asked.cpuset) {
		return lab.InvalidSpec("cpuset: %q is not a list of CPUs such as '0-1,3'", asked.cpuset)
	}
	return nil
}

const quotaPeriod = 100_000 // microseconds, the kernel's own default

// limit writes limits and reads them back: one that the kernel did not take
// as it was meant is an error, not a surprise in a result.
func (g group) limit(asked limits) error {
	if asked.cpu != 0 {
		if err := g.limitCPU(asked.cpu); err != nil {
			return fmt.Errorf("limiting cpu: %w", err)
		}
	}
	if asked.memory != 0 {
		if err := g.limitMemory(asked.memory); err != nil {
			return fmt.Errorf("limiting memory: %w", err)
		}
	}
	if asked.cpuset != "" {
		if err := g.limitCpuset(asked.cpuset); err != nil {
			return fmt.Errorf("limiting cpuset: %w", err)
		}
	}
	return nil
}

func (g group) limitCPU(millis int64) error {
	dir, quota := g.Dirs["cpu"], strconv.FormatInt(millis*quotaPeriod/1000, 10)
	if g.Version == 2 {
		if err := writeOptional(dir, "cpu.max.burst", "0"); err != nil {
			return err
		}
		return writeBack(dir, "cpu.max", quota+" "+strconv.Itoa(quotaPeriod))
	}
	if err := writeBack(dir, "cpu.cfs_period_us", strconv.Itoa(quotaPeriod)); err != nil {
		return err
	}
	if err := writeOptional(dir, "cpu.cfs_burst_us", "0"); err != nil {
		return err
	}
	return writeBack(dir, "cpu.cfs_quota_us", quota)
}

// limitMemory keeps swap out of it where the kernel can: a server that swaps
// measures the disk.
func (g group) limitMemory(bytes int64) error {
	pages := int64(os.Getpagesize())
	dir, whole := g.Dirs["memory"], strconv.FormatInt(bytes/pages*pages, 10)
	if g.Version == 2 {
		if err := writeOptional(dir, "memory.swap.max", "0"); err != nil {
			return err
		}
		return writeBack(dir, "memory.max", whole)
	}
	if err := writeOptional(dir, "memory.swappiness", "0"); err != nil {
		return err
	}
	if err := writeBack(dir, "memory.limit_in_bytes", whole); err != nil {
		return err
	}
	return writeOptional(dir, "memory.memsw.limit_in_bytes", whole)
}

func (g group) limitCpuset(cpus string) error {
	dir := g.Dirs["cpuset"]
	if g.Version == 1 {
		if err := inheritCpuset(dir); err != nil {
			return err
		}
	}
	effective := "cpuset.cpus.effective"
	if g.Version == 1 {
		effective = "cpuset.effective_cpus"
	}
	err := writeFile(filepath.Join(dir, "cpuset.cpus"), cpus)
	got, readErr := os.ReadFile(filepath.Join(dir, effective))
	if err != nil || readErr == nil && !sameCPUs(cpus, string(got)) {
		above, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), effective)) // for the message only
		return lab.InvalidSpec("cpuset %s cannot be had; the CPUs here are %s", cpus, strings.TrimSpace(string(above)))
	}
	return readErr
}

// inheritCpuset gives a v1 cpuset its parent's CPUs and memory nodes: a new
// one has none.
func inheritCpuset(dir string) error {
	parent := filepath.Dir(dir)
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if err == nil && len(strings.TrimSpace(string(value))) == 0 {
			value, err = os.ReadFile(filepath.Join(parent, "cpuset.effective_"+strings.TrimPrefix(file, "cpuset.")))
		}
		if err == nil {
			err = writeFile(filepath.Join(dir, file), strings.TrimSpace(string(value)))
		}
		if err != nil {
			return fmt.Errorf("inheriting %s: %w", file, err)
		}
	}
	return nil
}

// writeBack writes a value and compares it with what the kernel then says.
func writeBack(dir, file, value string) error {
	path := filepath.Join(dir, file)
	if err := writeFile(path, value); err != nil {
		return lab.Unsupported("writing %s: %w", file, err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading back %s: %w", file, err)
	}
	if text := strings.TrimSpace(string(got)); text != value {
		return lab.Unsupported("the kernel made %q of %q in %s", text, value, file)
	}
	return nil
}

// writeOptional writes a value that not every kernel has a file for.
func writeOptional(dir, file, value string) error {
	err := writeFile(filepath.Join(dir, file), value)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lab.Unsupported("writing %s: %w", file, err)
	}
	return nil
}

// sameCPUs compares two lists of CPUs, however they are written.
func sameCPUs(a, b string) bool { return slices.Equal(listCPUs(a), listCPUs(b)) }

func listCPUs(text string) []int {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			last, _ = strconv.Atoi(high)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}
