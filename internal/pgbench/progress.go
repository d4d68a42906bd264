package pgbench

import (
	"math"
	"strconv"
	"strings"
	"time"

	"pglab/internal/lab"
)

// ParseProgress reads one of the lines that pgbench prints once a second with
// --progress-timestamp. Other lines are not ok.
//
//	progress: 1796071442.448 s, 1048.9 tps, lat 2.392 ms stddev 1.363, 0 failed, lag 0.637 ms, 1718 skipped
//
// "failed" came with 15; what follows depends on options.
func ParseProgress(line string) (progress lab.Progress, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "progress: ")
	if !ok {
		return lab.Progress{}, false
	}
	fields := strings.Split(rest, ", ")
	if len(fields) < 3 {
		return lab.Progress{}, false
	}
	if progress.At, ok = parseStamp(fields[0]); !ok {
		return lab.Progress{}, false
	}
	tps, isTPS := strings.CutSuffix(fields[1], " tps")
	if progress.TPS, ok = parseFloat(tps); !ok || !isTPS {
		return lab.Progress{}, false
	}
	latency, stddev, ok := parseLatency(fields[2])
	if !ok {
		return lab.Progress{}, false
	}
	// In a second without a transaction pgbench prints zeros for "none".
	if progress.TPS != 0 || latency != 0 {
		progress.LatencyMS, progress.StddevMS = &latency, &stddev
	}
	for _, field := range fields[3:] {
		if digits, isFailed := strings.CutSuffix(field, " failed"); isFailed {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				progress.Failed = &n
			}
		}
	}
	return progress, true
}

// parseStamp reads "1796071442.448 s". Seconds since the start of the run,
// printed without --progress-timestamp, are no point in time.
func parseStamp(text string) (time.Time, bool) {
	number, isSeconds := strings.CutSuffix(text, " s")
	whole, fraction, _ := strings.Cut(number, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if !isSeconds || err != nil || seconds < 1e9 || len(fraction) != 3 {
		return time.Time{}, false
	}
	millis, err := strconv.ParseUint(fraction, 10, 16)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, int64(millis)*int64(time.Millisecond)).UTC(), true
}

// parseLatency reads "lat 2.392 ms stddev 1.363".
func parseLatency(text string) (latency, stddev float64, ok bool) {
	words := strings.Fields(text)
	if len(words) != 5 || words[0] != "lat" || words[2] != "ms" || words[3] != "stddev" {
		return 0, 0, false
	}
	if latency, ok = parseFloat(words[1]); !ok {
		return 0, 0, false
	}
	stddev, ok = parseFloat(words[4])
	return latency, stddev, ok
}

// parseFloat reads a number that can be stored and compared.
func parseFloat(text string) (float64, bool) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return 0, false
	}
	return number, true
}
