package pgbench

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pglab/internal/lab"
)

// Errors of a summary that say more than "incomplete".
var (
	errTooOld  = errors.New("this pgbench is older than 14 and does not tell when its clients were connected; set client_version to 14 or newer")
	errNoWork  = errors.New("pgbench finished no transaction; run it for more seconds, or look for what blocks it in lab.logs")
	errNothing = errors.New("pgbench printed no summary")
)

var header = regexp.MustCompile(`^pgbench \((\d+[^ ,)]*)`)

// ParseSummary reads what pgbench 14 and newer prints on standard output. The
// window is not in it. The error says what is missing.
func ParseSummary(stdout string) (lab.Summary, error) {
	var summary lab.Summary
	found := make(map[string]bool)
	for line := range strings.Lines(stdout) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasSuffix(line, "(excluding connections establishing)") {
			return lab.Summary{}, errTooOld
		}
		if match := header.FindStringSubmatch(line); match != nil {
			summary.ClientVersion = match[1]
			found["its version"] = true
			continue
		}
		for _, entry := range entries {
			value, ok := strings.CutPrefix(line, entry.label)
			if ok && entry.read(&summary, value) {
				found[entry.label] = true
			}
		}
	}
	if err := complete(stdout, summary, found); err != nil {
		return lab.Summary{}, err
	}
	return summary, nil
}

// complete says what of a summary is missing.
func complete(stdout string, summary lab.Summary, found map[string]bool) error {
	if strings.TrimSpace(stdout) == "" {
		return errNothing
	}
	var missing []string
	if !found["its version"] {
		missing = append(missing, "its version")
	}
	for _, entry := range entries {
		if entry.needed && !found[entry.label] {
			missing = append(missing, strings.Trim(entry.label, " :="))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// Without a transaction everything after their number is left out.
	if found[processed] && summary.Transactions == 0 {
		return errNoWork
	}
	return fmt.Errorf("pgbench's summary is incomplete: it lacks %s", strings.Join(missing, ", "))
}

// entry is a line of the summary.
type entry struct {
	label  string
	needed bool
	read   func(summary *lab.Summary, value string) (ok bool)
}

const processed = "number of transactions actually processed: "

var entries = []entry{
	{"transaction type: ", true, func(s *lab.Summary, v string) bool { s.TransactionType = v; return true }},
	{"scaling factor: ", true, func(s *lab.Summary, v string) bool {
		n, ok := leadingInt(v)
		if ok {
			scale := int(n)
			s.Scale = &scale
		}
		return ok
	}},
	{"query mode: ", true, func(s *lab.Summary, v string) bool { s.QueryMode = v; return true }},
	{"number of clients: ", true, func(s *lab.Summary, v string) bool { return setInt(&s.Clients, v) }},
	{"number of threads: ", true, func(s *lab.Summary, v string) bool { return setInt(&s.Threads, v) }},
	{"duration: ", true, func(s *lab.Summary, v string) bool { return setInt(&s.Seconds, v) }},
	// "204", or "204/1000" when a number of transactions was asked for.
	{processed, true, func(s *lab.Summary, v string) (ok bool) { s.Transactions, ok = leadingInt(v); return ok }},
	{"number of failed transactions: ", false, func(s *lab.Summary, v string) bool { return setCount(&s.Failed, v) }},
	{"number of transactions retried: ", false, func(s *lab.Summary, v string) bool { return setCount(&s.Retried, v) }},
	{"number of transactions skipped: ", false, func(s *lab.Summary, v string) bool { return setCount(&s.Skipped, v) }},
	{"latency average = ", true, func(s *lab.Summary, v string) bool { return setMillis(&s.LatencyMS, v) }},
	{"latency stddev = ", false, func(s *lab.Summary, v string) bool { return setMillis(&s.LatencyStddevMS, v) }},
	{"rate limit schedule lag: ", false, readScheduleLag},
	// Absent when every transaction connects anew (-C).
	{"initial connection time = ", false, func(s *lab.Summary, v string) bool { return setMillis(&s.ConnectMS, v) }},
	{"tps = ", true, func(s *lab.Summary, v string) (ok bool) {
		s.TPS, ok = leadingFloat(v)
		return ok && s.TPS > 0
	}},
}

// readScheduleLag reads "avg 0.168 (max 1.705) ms".
func readScheduleLag(s *lab.Summary, value string) bool {
	average, highest, _ := strings.Cut(strings.TrimPrefix(value, "avg "), " (max ")
	lag, ok := leadingFloat(average)
	lagMax, okMax := leadingFloat(strings.TrimSuffix(highest, ") ms"))
	if !ok || !okMax {
		return false
	}
	s.ScheduleLagMS, s.ScheduleLagMaxMS = &lag, &lagMax
	return true
}

func setInt(field *int, value string) bool {
	n, ok := leadingInt(value)
	*field = int(n)
	return ok
}

func setCount(field **int64, value string) bool {
	n, ok := leadingInt(value)
	if ok {
		*field = &n
	}
	return ok
}

func setMillis(field **float64, value string) bool {
	n, ok := leadingFloat(value)
	if ok {
		*field = &n
	}
	return ok
}

// leadingInt reads the number before the first blank or slash: "5716 (65.460%)".
func leadingInt(text string) (int64, bool) {
	digits, _, _ := strings.Cut(text, " ")
	digits, _, _ = strings.Cut(digits, "/")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}

// leadingFloat reads the number before the first blank: "0.804 ms".
func leadingFloat(text string) (float64, bool) {
	number, _, _ := strings.Cut(text, " ")
	return parseFloat(number)
}
