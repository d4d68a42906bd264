package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pglab/internal/cgroup"
)

// processTime is the CPU time of a process and all its threads, those that
// have ended too.
func processTime(pid int) (time.Duration, error) {
	// As clock_getcpuclockid makes it: the complement of the pid, and 2 for
	// the scheduler's own count, which is exact to the nanosecond.
	const scheduler = 2
	clock := ^int32(pid)<<3 | scheduler
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		return 0, fmt.Errorf("reading CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
}

// familyTime is the CPU time of a process, its children, and those that it
// has reaped. The last are known by the hundredth of a second.
func familyTime(pid int) (time.Duration, error) {
	total, err := processTime(pid)
	if err != nil {
		return 0, err
	}
	reaped, err := reapedTime(pid)
	if err != nil {
		return 0, err
	}
	total += reaped
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, fmt.Errorf("listing children of process %d: %w", pid, err)
	}
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("listing children of process %d: %w", pid, err)
		}
		used, err := processTime(child)
		if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: reaped meanwhile
			return 0, err
		}
		total += used
	}
	return total, nil
}

// tick is the unit of the kernel's files, whatever its own is.
const tick = time.Second / 100

// reapedTime is the CPU time of the children that a process has waited for.
func reapedTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading times of process %d: %w", pid, err)
	}
	const user, system = 13, 14 // counted from the state, behind the name in brackets
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading times of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// machineTime is the CPU time of everything that runs on this machine, as
// the kernel finds it at its ticks.
func machineTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading times of the machine: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, waiting, steal = 4, 5, 8 // counted from the word cpu; what follows steal is in user already
	var ticks int64
	for i, field := range strings.Fields(line) {
		if i == 0 || i == idle || i == waiting || i > steal {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading times of the machine: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// groupCounter is the kernel's counter of the CPU time of a control group and
// all groups below it, those that were removed too.
type groupCounter struct {
	path string
	key  string // of the line in it; empty: the file is one number
	unit time.Duration
}

// counterIn is the counter in a group's directory.
func counterIn(group cgroup.Group, dir string) groupCounter {
	if group.Version == 1 {
		return groupCounter{path: filepath.Join(dir, "cpuacct.usage"), unit: time.Nanosecond}
	}
	return groupCounter{path: filepath.Join(dir, "cpu.stat"), key: "usage_usec ", unit: time.Microsecond}
}

func (c groupCounter) read() (time.Duration, error) {
	text, err := os.ReadFile(c.path)
	if err != nil {
		return 0, fmt.Errorf("reading CPU time of control group: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), c.key); found {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading CPU time of control group: %w", err)
			}
			return time.Duration(n) * c.unit, nil
		}
	}
	return 0, fmt.Errorf("reading CPU time of control group: %s has no line %q", c.path, c.key)
}
