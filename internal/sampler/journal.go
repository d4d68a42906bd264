package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"pglab/internal/cgroup"
)

// The journal is text, a line an entry, so that a line that was cut by the
// end of a process or of the disk spoils only itself:
//
//	pglab-readings 1 <wall clock, ns> <monotonic clock, ns> <name of a counter>...
//	counted <role> <by what>
//	<role> <microseconds since the start> <readings> <counter>...
//
// A counter that was not measured is "-".
const journalMagic = "pglab-readings 1"

// appendHeader names the columns: a later pglab may know others.
func appendHeader(line []byte, clock clock) []byte {
	line = fmt.Appendf(line, "%s %d %d", journalMagic, clock.zero.UnixNano(), clock.boot)
	for which := range cgroup.NumCounters {
		line = append(line, ' ')
		line = append(line, which.String()...)
	}
	return append(line, '\n')
}

func appendCounted(line []byte, role, counted string) []byte {
	return fmt.Appendf(line, "counted %s %s\n", role, counted)
}

// appendReading allocates nothing.
func appendReading(line []byte, role string, r *reading) []byte {
	line = append(line, role...)
	line = strconv.AppendInt(append(line, ' '), r.at.Microseconds(), 10)
	line = strconv.AppendInt(append(line, ' '), int64(r.n), 10)
	for which := range cgroup.NumCounters {
		line = append(line, ' ')
		if n, measured := r.Get(which); measured {
			line = strconv.AppendInt(line, n, 10)
		} else {
			line = append(line, '-')
		}
	}
	return append(line, '\n')
}

// journal is what an earlier process wrote.
type journal struct {
	zero    time.Time
	boot    time.Duration
	columns []cgroup.Counter // -1: not known to this pglab
	counted map[string]string
	history map[string]history
	whole   int // bytes up to the end of the last whole line
}

var errNoJournal = errors.New("it has no header of this format")

// readJournal reads a journal; fs.ErrNotExist when there is none.
func readJournal(path string) (*journal, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j, err := parseJournal(text)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

func parseJournal(text []byte) (*journal, error) {
	j := &journal{counted: make(map[string]string), history: make(map[string]history)}
	j.whole = bytes.LastIndexByte(text, '\n') + 1
	header, rest, _ := bytes.Cut(text[:j.whole], []byte("\n"))
	if !j.parseHeader(string(header)) {
		return nil, errNoJournal
	}
	for line := range bytes.Lines(rest) {
		j.parseLine(string(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return j, nil
}

func (j *journal) parseHeader(line string) bool {
	rest, ok := strings.CutPrefix(line, journalMagic+" ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 {
		return false
	}
	zero, errZero := strconv.ParseInt(fields[0], 10, 64)
	boot, errBoot := strconv.ParseInt(fields[1], 10, 64)
	if errZero != nil || errBoot != nil {
		return false
	}
	j.zero, j.boot = time.Unix(0, zero), time.Duration(boot)
	for _, name := range fields[2:] {
		column := cgroup.Counter(-1)
		for which := range cgroup.NumCounters {
			if which.String() == name {
				column = which
			}
		}
		j.columns = append(j.columns, column)
	}
	return true
}

// parseLine takes a line in; one that is damaged is passed over.
func (j *journal) parseLine(line string) {
	if rest, ok := strings.CutPrefix(line, "counted "); ok {
		if role, counted, ok := strings.Cut(rest, " "); ok {
			j.counted[role] = counted
		}
		return
	}
	fields := strings.Split(line, " ")
	if len(fields) != 3+len(j.columns) {
		return
	}
	micros, errAt := strconv.ParseInt(fields[1], 10, 64)
	n, errN := strconv.Atoi(fields[2])
	if errAt != nil || errN != nil || n < 1 {
		return
	}
	r := reading{at: time.Duration(micros) * time.Microsecond, n: n}
	for i, column := range j.columns {
		value := fields[3+i]
		if value == "-" || column < 0 {
			continue
		}
		counter, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return
		}
		r.Set(column, counter)
	}
	// Time does not run backwards; a line that says so is damaged.
	role := fields[0]
	if past := j.history[role]; len(past) > 0 && past[len(past)-1].at >= r.at {
		return
	}
	j.history[role] = append(j.history[role], r)
}

// createJournal begins a journal, in the place of any other.
func createJournal(path string, clock clock) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the journal of readings: %w", err)
	}
	if _, err := file.Write(appendHeader(nil, clock)); err != nil {
		file.Close()
		return nil, fmt.Errorf("beginning the journal of readings: %w", err)
	}
	return file, nil
}

// continueJournal opens a journal to go on after its last whole line.
func continueJournal(path string, whole int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the journal of readings: %w", err)
	}
	if err := file.Truncate(int64(whole)); err != nil {
		file.Close()
		return nil, fmt.Errorf("cutting the journal of readings: %w", err)
	}
	return file, nil
}

// absent reports whether there is no journal to go on with.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
