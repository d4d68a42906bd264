package pgbench

import (
	"os"
	"strings"
	"testing"
	"time"

	"pglab/internal/lab"
)

func TestJudgeAcceptsCompleteRuns(t *testing.T) {
	for _, test := range []struct {
		name   string
		task   lab.Task
		start  float64 // Unix time
		length float64 // seconds
		doubt  string
	}{
		{"15-simple", ended(0), 1796071426.673 + 0.090, 3.942, ""},
		{"15-prepared", ended(0), 1796071434.103 + 0.073, 2.931, ""},
		{"15-rate", ended(0), 1796071437.297 + 0.040, 3.953, ""},
		{"15-stall", ended(0), 1796071486.797 + 0.036, 5.964, ""},
		{"15-one-second", ended(0), 1796071451.004 + 0.060, 0.940, ""},
		{"15-two-seconds", ended(0), 1796071452.162 + 0.052, 1.950, ""},
		{"15-many", ended(0), 1796071454.358 + 1.191, 1.837, ""}, // connecting took longer than a line
		{"15-connect", ended(0), 1796071444.637, 3.013, "connected for every transaction"},
		{"15-no-lines", lab.Task{StartedAt: at(1796071485.462), ExitedAt: at(1796071486.504)},
			1796071485.578, 0.859, "window is known to 67 ms"},
		{"17-simple", ended(0), 1796071462.395 + 0.078, 2.958, ""},
		{"18-simple", ended(0), 1796071465.546 + 0.088, 2.936, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr := recorded(t, test.name)
			summary, doubt, err := Judge(test.task, stdout, stderr)
			if err != nil {
				t.Fatal(err)
			}
			if off := summary.WindowStart.Sub(at(test.start)).Abs(); off > 2*time.Millisecond {
				t.Errorf("window starts %v, want %v", summary.WindowStart, at(test.start))
			}
			if length := summary.WindowEnd.Sub(summary.WindowStart).Seconds(); length < test.length-0.001 || length > test.length+0.001 {
				t.Errorf("window is %.3f s, want %.3f s", length, test.length)
			}
			assertDoubt(t, doubt, test.doubt)
		})
	}
}

func TestJudgeSaysWhyARunFailed(t *testing.T) {
	for _, test := range []struct {
		name   string
		output string
		task   lab.Task
		want   []string
	}{
		{"a client aborted, the summary is complete", "15-client-abort", ended(2),
			[]string{"exit status 2", "division by zero", "Run was aborted"}},
		{"the server died", "15-server-killed", ended(2), []string{"exit status 2", "perhaps the backend died"}},
		{"a broken script", "15-syntax", ended(1), []string{"exit status 1", `syntax.sql:1:`, `syntax error in command "set"`}},
		{"no server", "15-no-server", ended(1), []string{"exit status 1", "Is the server running"}},
		{"no transaction", "15-no-transactions", ended(0), []string{"finished no transaction"}},
		{"a client that is too old", "13-simple", ended(0), []string{"older than 14", "client_version"}},
		{"killed", "15-simple", lab.Task{Signal: "killed"}, []string{"ended by a signal (killed)"}},
		{"out of memory", "15-simple", lab.Task{Signal: "killed", OOMKilled: true}, []string{"memory ran out"}},
		{"lost", "15-simple", lab.Task{Message: "the host was restarted"}, []string{"the host was restarted"}},
		{"still running", "15-simple", lab.Task{Running: true}, []string{"still runs"}},
		{"an odd status", "15-simple", ended(127), []string{"exit status 127"}},
		{"no output", "15-no-server", ended(0), []string{"printed no summary", "could not create connection"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr := recorded(t, test.output)
			summary, _, err := Judge(test.task, stdout, stderr)
			if err == nil {
				t.Fatalf("accepted with %+v", summary)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "progress:") {
				t.Errorf("progress lines are no reason:\n%v", err)
			}
		})
	}
}

func TestFailureOfAnyPhase(t *testing.T) {
	stderr, err := os.ReadFile("testdata/output/15-no-server.stderr")
	if err != nil {
		t.Fatal(err)
	}
	if reason := Failure(ended(0), stderr); reason != "" {
		t.Errorf("success fails: %s", reason)
	}
	if reason := Failure(ended(1), stderr); !strings.Contains(reason, "could not create connection for setup") {
		t.Errorf("the reason lacks what pgbench said:\n%s", reason)
	}
}
