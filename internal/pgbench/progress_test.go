package pgbench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

func TestParseProgress(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       lab.Progress
	}{
		{"14", "progress: 1796071427.674 s, 790.9 tps, lat 4.589 ms stddev 3.106",
			lab.Progress{At: at(1796071427.674), TPS: 790.9, LatencyMS: new(4.589), StddevMS: new(3.106)}},
		{"14 with a rate", "progress: 1796071427.674 s, 790.9 tps, lat 4.589 ms stddev 3.106, lag 0.637 ms",
			lab.Progress{At: at(1796071427.674), TPS: 790.9, LatencyMS: new(4.589), StddevMS: new(3.106)}},
		{"15 and newer", "progress: 1796071427.674 s, 790.9 tps, lat 4.589 ms stddev 3.106, 2 failed",
			lab.Progress{At: at(1796071427.674), TPS: 790.9, LatencyMS: new(4.589), StddevMS: new(3.106), Failed: new(int64(2))}},
		{"rate, limit and tries", "progress: 1796071442.448 s, 1048.9 tps, lat 2.392 ms stddev 1.363, 0 failed, lag 0.637 ms, 1718 skipped, 1 retried, 3 retries\r\n",
			lab.Progress{At: at(1796071442.448), TPS: 1048.9, LatencyMS: new(2.392), StddevMS: new(1.363), Failed: new(int64(0))}},
		{"a second without transactions has no latency", "progress: 1796071489.798 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed",
			lab.Progress{At: at(1796071489.798), Failed: new(int64(0))}},
		{"no latency to speak of", "progress: 1796071489.798 s, 9000000.0 tps, lat 0.000 ms stddev 0.000, 0 failed",
			lab.Progress{At: at(1796071489.798), TPS: 9e6, LatencyMS: new(0.0), StddevMS: new(0.0), Failed: new(int64(0))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			progress, ok := ParseProgress(test.line)
			if !ok {
				t.Fatal("not taken for a progress line")
			}
			if diff := cmp.Diff(test.want, progress); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseProgressLeavesOtherLinesAlone(t *testing.T) {
	for name, line := range map[string]string{
		"empty":            "",
		"an error":         "pgbench: error: client 0 aborted",
		"cut":              "progress: 1796071489.798 s, 0.0 tps",
		"relative time":    "progress: 1.0 s, 790.9 tps, lat 4.589 ms stddev 3.106, 0 failed",
		"not a number":     "progress: 1796071489.798 s, nan tps, lat 0.000 ms stddev 0.000",
		"latency is not":   "progress: 1796071489.798 s, 1.0 tps, lat -nan ms stddev 0.000",
		"a negative stamp": "progress: -1796071489.798 s, 1.0 tps, lat 1.000 ms stddev 0.000",
	} {
		if progress, ok := ParseProgress(line); ok {
			t.Errorf("%s: %q was taken for %+v", name, line, progress)
		}
	}
}
