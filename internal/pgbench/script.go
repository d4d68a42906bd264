package pgbench

import (
	"regexp"
	"strings"

	"pglab/internal/lab"
)

// shellCommand finds \shell and \setshell as pgbench does: in any case,
// anywhere in a line, with blanks and continued lines after the backslash.
// Quotes and comments are not looked at: pgbench's idea of where they end
// depends on the server's settings, and this must not be fooled.
var shellCommand = regexp.MustCompile(`(?i)\\(?:[ \t\r\f\v]|\\\r?\n)*((?:set)?shell)\b`)

// CheckScript refuses a script that would start programs where pgbench runs.
// The error is lab.ErrInvalidSpec and names the line.
func CheckScript(script string) error {
	if at := strings.IndexByte(script, 0); at >= 0 {
		return lab.InvalidSpec("script, line %d: there is a zero byte", lineOf(script, at))
	}
	found := shellCommand.FindStringSubmatchIndex(script)
	if found == nil {
		return nil
	}
	command := strings.ToLower(script[found[2]:found[3]])
	return lab.InvalidSpec(`script, line %d: \%s would start a program where pgbench runs, which a run must not; use \set or SQL`,
		lineOf(script, found[0]), command)
}

// lineOf is the number of the line, from 1, that a byte of text is in.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
