package sql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pglab/internal/testenv"
)

// What the schema lets pass, pgbench must not take for a command of a shell.
func TestNoScriptReachesAShell(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	operator := r.connect(t, "operator")
	for name, start := range map[string]string{
		"plain":                `\shell`,
		"upper case":           `\SHELL`,
		"blanks":               "\\ \t shell",
		"form feed":            "\\\fshell",
		"carriage return":      "\\\rshell",
		"continued":            "\\\\\nshell",
		"continued, Windows":   "\\\\\r\nshell",
		"continued twice":      "\\ \\\n \\\n shell",
		"behind a statement":   `SELECT 1 \shell`,
		"into a variable":      `\setshell v`,
		"behind a comment":     "\\ -- \nshell",
		"in two halves":        "\\sh\\\nell",
		"quoted":               `\"shell"`,
		"unusual blank":        "\\\u00a0shell",
		"on a line of its own": "\\\nshell",
	} {
		mark := filepath.Join(t.TempDir(), "mark")
		script := fmt.Sprintf("%s touch %s\nSELECT 1;\n", start, mark)
		_, refusal := operator.Exec(t.Context(), "INSERT INTO lab.runs (cluster, script) VALUES ('pg16', $1)", script)
		reached := false
		for _, major := range []int{15, 18} {
			testenv.Run(t.Context(), t, testenv.Pgbench(t, major), testenv.Call{
				Args: []string{"-n", "-t", "1", "-f", scriptFile(t, script), r.server.URL("lab")}})
			_, err := os.Stat(mark)
			reached = reached || err == nil
		}
		if reached && refusal == nil {
			t.Errorf("%s: accepted, and pgbench ran it", name)
		}
		if name == "plain" && !reached {
			t.Error("pgbench does not run \\shell; the test proves nothing")
		}
	}
}

func scriptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
