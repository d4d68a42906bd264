package pgbench

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"pglab/internal/lab"
)

const (
	maxLine     = 64 << 10 // bytes of a line that are looked at
	tailLines   = 10       // lines of Tail
	maxTailLine = 400      // bytes of a line of Tail
)

// initProgress is what pgbench -i tells every 100000 rows.
var initProgress = regexp.MustCompile(`^\d+ of \d+ tuples `)

// Stderr reads pgbench's standard error as it grows: progress lines become
// figures, the last of the others are kept for an error message. pgbench
// writes a line in several pieces, so a piece may end anywhere.
type Stderr struct {
	// OnProgress, if set, receives each figure as soon as its line is complete.
	OnProgress func(lab.Progress)

	partial []byte
	stamps  []time.Time
	tail    []string // at most tailLines
}

// Write takes the next piece. It never fails.
func (s *Stderr) Write(piece []byte) (int, error) {
	n := len(piece)
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			s.keep(piece)
			return n, nil
		}
		s.keep(piece[:end])
		s.take()
		piece = piece[end+1:]
	}
}

// keep adds to the line that is being put together.
func (s *Stderr) keep(piece []byte) {
	room := maxLine - len(s.partial)
	s.partial = append(s.partial, piece[:min(room, len(piece))]...)
}

// take ends the line that was put together.
func (s *Stderr) take() {
	line := string(bytes.TrimRight(s.partial, "\r"))
	s.partial = s.partial[:0]
	if progress, ok := ParseProgress(line); ok {
		s.stamps = append(s.stamps, progress.At)
		if s.OnProgress != nil {
			s.OnProgress(progress)
		}
		return
	}
	s.tail = appendTail(s.tail, line)
}

// Stamps are the times of the progress lines so far.
func (s *Stderr) Stamps() []time.Time { return s.stamps }

// Tail is the last lines that tell no progress, a line that has not ended
// included; at most ten, each cut to a few hundred bytes.
func (s *Stderr) Tail() string {
	tail := s.tail
	if _, progress := ParseProgress(string(s.partial)); !progress {
		tail = appendTail(append([]string(nil), tail...), string(s.partial))
	}
	return strings.Join(tail, "\n")
}

// appendTail leaves out empty lines and what pgbench -i tells about its progress.
func appendTail(tail []string, line string) []string {
	if strings.TrimSpace(line) == "" || initProgress.MatchString(line) {
		return tail
	}
	if len(line) > maxTailLine {
		line = line[:maxTailLine] + "..."
	}
	// It becomes a value of type text, which takes neither.
	line = strings.ReplaceAll(strings.ToValidUTF8(line, "?"), "\x00", "?")
	if len(tail) == tailLines {
		tail = tail[1:]
	}
	return append(tail, line)
}
