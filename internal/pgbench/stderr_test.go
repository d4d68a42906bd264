package pgbench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

// pgbench writes a line in two to five pieces: wherever they end, the figures
// are the same.
func TestStderrPutsLinesTogether(t *testing.T) {
	text, err := os.ReadFile("testdata/output/15-server-killed.stderr")
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := readInPieces(text, len(text))
	if len(whole) != 1 {
		t.Fatalf("%d progress lines, want 1", len(whole))
	}
	for size := 1; size < 100; size++ {
		pieces, stderr := readInPieces(text, size)
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Fatalf("in pieces of %d bytes (-whole +pieces):\n%s", size, diff)
		}
		if got := stderr.Tail(); !strings.HasSuffix(got, "pgbench: error: Run was aborted; the above results are incomplete.") {
			t.Fatalf("in pieces of %d bytes the tail is\n%s", size, got)
		}
	}
}

func readInPieces(text []byte, size int) (seen []lab.Progress, stderr *Stderr) {
	stderr = &Stderr{OnProgress: func(progress lab.Progress) { seen = append(seen, progress) }}
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = stderr.Write(text[:n])
		text = text[n:]
	}
	return seen, stderr
}

func TestTail(t *testing.T) {
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "pgbench: error: client %d aborted\n", i)
	}
	for _, test := range []struct {
		name, stderr, want string
	}{
		{"nothing", "", ""},
		{"progress is left out", "progress: 1796071489.798 s, 1.0 tps, lat 1.000 ms stddev 0.000\nerror\n", "error"},
		{"progress that has not ended", "error\nprogress: 1796071489.798 s, 1.0 tps, lat 1.000 ms stddev 0.000", "error"},
		{"progress of -i", "creating tables...\n100000 of 500000 tuples (20%) done (elapsed 0.11 s, remaining 0.44 s)\nERROR\n", "creating tables...\nERROR"},
		{"a line that has not ended", "first\nsecond", "first\nsecond"},
		{"blank lines", "\n \nfirst\n\n", "first"},
		{"bytes that no text can hold", "a\x00b\xffc\r\n", "a?b?c"},
		{"a long line", strings.Repeat("x", 100_000) + "\nnext\n", strings.Repeat("x", 400) + "...\nnext"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr Stderr
			_, _ = stderr.Write([]byte(test.stderr))
			if diff := cmp.Diff(test.want, stderr.Tail()); diff != "" {
				t.Errorf("tail (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the last ten", func(t *testing.T) {
		var stderr Stderr
		_, _ = stderr.Write([]byte(many.String()))
		lines := strings.Split(stderr.Tail(), "\n")
		if len(lines) != 10 || !strings.Contains(lines[0], "client 20") || !strings.Contains(lines[9], "client 29") {
			t.Errorf("got %q", lines)
		}
	})
}

func FuzzProgress(f *testing.F) {
	for _, name := range []string{"15-stall", "15-rate-limit", "15-retries", "15-server-killed", "13-simple"} {
		text, err := os.ReadFile("testdata/output/" + name + ".stderr")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 {
			size = 1
		}
		whole, stderr := readInPieces(text, max(1, len(text)))
		pieces, _ := readInPieces(text, size)
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("in pieces of %d bytes (-whole +pieces):\n%s", size, diff)
		}
		if tail := stderr.Tail(); !utf8.ValidString(tail) || strings.ContainsRune(tail, 0) || len(tail) > 11*410*3 {
			t.Errorf("tail %q cannot be stored", tail)
		}
	})
}
