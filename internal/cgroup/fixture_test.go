package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded lays a tree of testdata out below a directory of its own. In the
// text, a line "-- path --" begins a file.
func recorded(t *testing.T, name string) Host {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return lay(t, string(text))
}

func lay(t *testing.T, text string) Host {
	t.Helper()
	host := Host{Root: t.TempDir()}
	var path string
	var content strings.Builder
	flush := func() {
		if path != "" {
			write(t, host.path(path), content.String())
		}
		content.Reset()
	}
	for line := range strings.Lines(text) {
		header, isHeader := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if header, closed := strings.CutSuffix(header, " --"); isHeader && closed {
			flush()
			path = header
			continue
		}
		content.WriteString(line)
	}
	flush()
	return host
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// named is a reading by the names of its counters.
func named(counters *Counters) map[string]int64 {
	byName := make(map[string]int64)
	for counter := range NumCounters {
		if n, measured := counters.Get(counter); measured {
			byName[counter.String()] = n
		}
	}
	return byName
}
