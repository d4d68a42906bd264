package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrNotRunning says that a process has ended, or never was.
var ErrNotRunning = errors.New("not running")

// Identity names one process of this host for good. A pid alone does not:
// it comes again, at the latest after the next boot.
type Identity struct {
	Boot  string `json:"boot_id"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"` // clock ticks from boot to the process's start
}

// Identify names the process that has this pid now. ErrNotRunning when none
// has, or when it only waits to be reaped.
func Identify(pid int) (Identity, error) {
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	start, running, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	if !running {
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrNotRunning)
	}
	return Identity{Boot: boot, PID: pid, Start: start}, nil
}

// Alive reports whether the process still runs.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// StartedAt is when the process started, to the clock tick of 10 ms.
func (id Identity) StartedAt() (time.Time, error) {
	boot, err := bootTime()
	if err != nil {
		return time.Time{}, err
	}
	return boot.Add(time.Duration(id.Start) * time.Second / ticksPerSecond), nil
}

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for every program.
const ticksPerSecond = 100

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading boot id: %w", err)
	}
	return string(bytes.TrimSpace(text)), nil
}

func bootTime() (time.Time, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("reading boot time: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("reading boot time: %w", err)
			}
			return time.Unix(seconds, 0), nil
		}
	}
	return time.Time{}, errors.New("reading boot time: /proc/stat has no btime")
}

// readStat reads the start time of a process, and whether it runs rather
// than being a zombie.
func readStat(pid int) (start uint64, running bool, err error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	// Twice: a program whose second thread calls exec dies and is born again
	// under the same pid, and the first reading may have caught it in between.
	for range 2 {
		text, err := os.ReadFile(path)
		if err != nil {
			// ESRCH: it ended between open and read.
			return 0, false, fmt.Errorf("process %d: %w", pid, ErrNotRunning)
		}
		if start, running, err = parseStat(text); err != nil || running {
			return start, running, err
		}
	}
	return start, running, nil
}

// parseStat counts fields from the last ")": the second field is the
// program's name, which may hold spaces and parentheses itself.
func parseStat(text []byte) (start uint64, running bool, err error) {
	end := bytes.LastIndexByte(text, ')')
	fields := bytes.Fields(text[end+1:])
	// Numbered from 1 in proc(5); the third comes first here.
	const state, threads, startTime = 3 - 3, 20 - 3, 22 - 3
	if end < 0 || len(fields) <= startTime {
		return 0, false, fmt.Errorf("reading process status: unexpected form %q", text)
	}
	start, err = strconv.ParseUint(string(fields[startTime]), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("reading process status: start time: %w", err)
	}
	// The state is that of the first thread: with others it runs on.
	ended := bytes.ContainsAny(fields[state], "ZXx")
	alone := string(fields[threads]) == "0" || string(fields[threads]) == "1"
	return start, !ended || !alone, nil
}
