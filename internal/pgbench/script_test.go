package pgbench

import (
	"errors"
	"strings"
	"testing"

	"pglab/internal/lab"
)

func TestCheckScriptRefusesPrograms(t *testing.T) {
	for _, test := range []struct {
		name, script, want string
	}{
		{"shell", `\shell id`, `line 1: \shell`},
		{"setshell", "SELECT 1;\n\\setshell x id", `line 2: \setshell`},
		{"leading blanks", "\n\n \t\\shell id", `line 3: \shell`},
		{"blanks after the backslash", "\\ \t shell id", `line 1: \shell`},
		{"after SQL", `SELECT 1; \shell id`, `line 1: \shell`},
		{"capitals", `\SetShell x id`, `line 1: \setshell`},
		{"continued before the word", "SELECT 1;\n\\\\\n shell id", `line 2: \shell`},
		{"continued with carriage return", "\\\\\r\n\\\r\nshell id", `line 1: \shell`},
		{"continued after the word", "\\shell\\\n id", `line 1: \shell`},
		{"at the end", `\shell`, `line 1: \shell`},
		// Where a string ends depends on settings, so strings do not protect.
		{"inside a string", `SELECT '\shell';`, `line 1: \shell`},
		{"zero byte", "SELECT 1;\nSELECT \x002;", "line 2: there is a zero byte"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckScript(test.script)
			if !errors.Is(err, lab.ErrInvalidSpec) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an invalid request with %q", err, test.want)
			}
		})
	}
}

func TestCheckScriptAcceptsTheRest(t *testing.T) {
	for name, script := range map[string]string{
		"empty":               "",
		"meta commands":       "\\set aid random(1, 100000 * :scale)\nSELECT 1 \\gset\n\\sleep 1 ms\n\\if :aid > 1\nSELECT 2;\n\\endif\n",
		"the word in SQL":     "SELECT shell FROM beach; -- setshell, shell",
		"a longer word":       `\shellfish`,
		"a name that ends so": `SELECT 1 \gset my_shell`,
		"one megabyte":        strings.Repeat("SELECT 1;\n", 100_000),
	} {
		if err := CheckScript(script); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
