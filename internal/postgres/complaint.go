package postgres

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxComplaint = 2000 // bytes that are quoted at most
	fewLines     = 5    // lines that are quoted when none stands out
)

// severity finds the message in a line of a server's log, behind whatever
// prefix it was configured to have.
var severity = regexp.MustCompile(`\b(LOG|WARNING|ERROR|FATAL|PANIC|DETAIL|HINT): {1,2}(.*)$`)

// Complaint picks from the text of a server's log why it did not start, in the server's own words: its last FATAL or PANIC with DETAIL
// and HINT. A FATAL that only points at a broken configuration is replaced
// by what was said about each setting. Without any FATAL it is the last lines.
func Complaint(log string) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	fatal := -1
	for i, line := range lines {
		if match := severity.FindStringSubmatch(line); match != nil && (match[1] == "FATAL" || match[1] == "PANIC") {
			fatal = i
		}
	}
	if fatal < 0 {
		return clip(strings.Join(lines[max(0, len(lines)-fewLines):], "; "))
	}
	if strings.Contains(lines[fatal], "configuration file") && strings.Contains(lines[fatal], "contains errors") {
		if said := settingComplaints(lines[:fatal]); said != "" {
			return clip(said)
		}
	}
	words := []string{message(lines[fatal])}
	for _, line := range lines[fatal+1:] {
		match := severity.FindStringSubmatch(line)
		if match == nil || (match[1] != "DETAIL" && match[1] != "HINT") {
			break
		}
		words = append(words, match[1]+": "+match[2])
	}
	return clip(strings.Join(words, "; "))
}

// LastWords picks from the text of a server's log what the postmaster itself
// said since it was last ready: who told it to stop, or what made it. Sessions
// have fatal errors of their own all the time; they mean nothing here. Empty
// when it said nothing, or when its lines cannot be told by "[PID]".
func LastWords(log string, postmaster int) string {
	mark := "[" + strconv.Itoa(postmaster) + "]"
	var words []string
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\n")
		if !strings.Contains(line, mark) {
			continue
		}
		if strings.HasSuffix(line, "database system is ready to accept connections") {
			words = nil
			continue
		}
		if match := severity.FindStringSubmatch(line); match != nil {
			words = append(words, match[2])
		}
	}
	return clip(strings.Join(words[:min(len(words), fewLines)], "; "))
}

// settingComplaints are the messages right before the FATAL about a
// configuration file: one for each setting that is wrong.
func settingComplaints(lines []string) string {
	var said []string
	for _, line := range slices.Backward(lines) {
		match := severity.FindStringSubmatch(line)
		if match == nil || match[1] == "FATAL" || match[1] == "PANIC" || strings.HasPrefix(match[2], "database system is") {
			break
		}
		said = append(said, match[2])
	}
	slices.Reverse(said)
	return strings.Join(said, "; ")
}

func message(line string) string {
	if match := severity.FindStringSubmatch(line); match != nil {
		return match[1] + ": " + match[2]
	}
	return line
}

func clip(text string) string {
	if len(text) <= maxComplaint {
		return text
	}
	return strings.ToValidUTF8(text[:maxComplaint], "") + "..."
}

// hostTroubles are the kernel's words for conditions of the host that no
// change of a setting is a remedy for.
var hostTroubles = []string{
	"No space left on device", "Disk quota exceeded", "Read-only file system", "Input/output error",
	"Too many open files", "Permission denied", "lock file", "Address already in use",
}

// HostTrouble reports whether a complaint of initdb or of a server is about
// the state of the host and may pass, rather than about what was asked for.
func HostTrouble(complaint string) bool {
	return slices.ContainsFunc(hostTroubles, func(words string) bool { return strings.Contains(complaint, words) })
}
