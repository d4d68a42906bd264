package pgbench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

func TestParseSummaryReadsEveryField(t *testing.T) {
	for _, test := range []struct {
		name string
		want lab.Summary
	}{
		{"15-simple", lab.Summary{
			ClientVersion: "15.18", TransactionType: "<builtin: TPC-B (sort of)>", Scale: new(5), QueryMode: "simple",
			Clients: 4, Threads: 2, Seconds: 4, Transactions: 3322, Failed: new(int64(0)),
			LatencyMS: new(4.717), LatencyStddevMS: new(3.234), ConnectMS: new(89.968), TPS: 842.714087,
		}},
		{"15-rate-limit", lab.Summary{
			ClientVersion: "15.18", TransactionType: "<builtin: TPC-B (sort of)>", Scale: new(5), QueryMode: "simple",
			Clients: 2, Threads: 1, Seconds: 3, Transactions: 3016, Failed: new(int64(0)), Skipped: new(int64(5716)),
			LatencyMS: new(2.556), LatencyStddevMS: new(2.287), ScheduleLagMS: new(0.646), ScheduleLagMaxMS: new(2.035),
			ConnectMS: new(52.998), TPS: 1020.205895,
		}},
		{"15-retries", lab.Summary{
			ClientVersion: "15.18", TransactionType: "<builtin: TPC-B (sort of)>", Scale: new(5), QueryMode: "simple",
			Clients: 4, Threads: 1, Seconds: 3, Transactions: 3023, Failed: new(int64(0)), Retried: new(int64(0)),
			LatencyMS: new(3.814), LatencyStddevMS: new(2.444), ConnectMS: new(108.371), TPS: 1041.396815,
		}},
		{"15-script", lab.Summary{
			ClientVersion: "15.18", TransactionType: "script.sql", Scale: new(5), QueryMode: "simple",
			Clients: 2, Threads: 1, Seconds: 3, Transactions: 40629, Failed: new(int64(0)),
			LatencyMS: new(0.142), LatencyStddevMS: new(0.279), ConnectMS: new(51.840), TPS: 13780.095734,
		}},
		{"15-connect", lab.Summary{ // no initial connection time
			ClientVersion: "15.18", TransactionType: "<builtin: select only>", Scale: new(5), QueryMode: "simple",
			Clients: 2, Threads: 1, Seconds: 3, Transactions: 93, Failed: new(int64(0)),
			LatencyMS: new(32.175), LatencyStddevMS: new(10.367), TPS: 30.862354,
		}},
		{"18-simple", lab.Summary{
			ClientVersion: "18.6", TransactionType: "<builtin: TPC-B (sort of)>", Scale: new(5), QueryMode: "simple",
			Clients: 4, Threads: 2, Seconds: 3, Transactions: 3634, Failed: new(int64(0)),
			LatencyMS: new(3.208), LatencyStddevMS: new(2.231), ConnectMS: new(88.060), TPS: 1237.837076,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, _ := recorded(t, test.name)
			summary, err := ParseSummary(stdout)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, summary); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

// 14 has neither failed transactions nor a number of tries.
func TestParseSummaryOf14(t *testing.T) {
	stdout := strings.Join([]string{
		"pgbench (14.20)", "transaction type: <builtin: select only>", "scaling factor: 1", "query mode: prepared",
		"number of clients: 1", "number of threads: 1", "duration: 10 s",
		"number of transactions actually processed: 10", "latency average = 1.000 ms",
		"initial connection time = 2.000 ms", "tps = 1.000000 (without initial connection time)",
	}, "\n")
	summary, err := ParseSummary(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Failed != nil || summary.LatencyStddevMS != nil {
		t.Errorf("what 14 does not print is not measured, got failed %v, stddev %v", summary.Failed, summary.LatencyStddevMS)
	}
}

func TestParseSummarySaysWhatIsWrong(t *testing.T) {
	whole, _ := recorded(t, "15-simple")
	old, _ := recorded(t, "13-simple")
	idle, _ := recorded(t, "15-no-transactions")
	for _, test := range []struct {
		name, stdout, want string
	}{
		{"empty", "", "printed no summary"},
		{"blank", " \n\n", "printed no summary"},
		{"13", old, "older than 14"},
		{"no transactions", idle, "finished no transaction"},
		{"only the header", "pgbench (18.6)\n", "lacks transaction type, scaling factor, query mode"},
		{"cut before tps", whole[:strings.Index(whole, "tps = ")], "lacks tps"},
		{"cut inside tps", whole[:strings.Index(whole, "tps = ")+6], "lacks tps"},
		{"no number of transactions", strings.Replace(whole, "3322", "many", 1), "lacks number of transactions actually processed"},
		{"tps is infinite", strings.Replace(whole, "842.714087", "inf", 1), "lacks tps"},
		{"tps is zero", strings.Replace(whole, "842.714087", "0.000000", 1), "lacks tps"},
		{"not pgbench", "hello\n", "lacks its version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseSummary(test.stdout)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func FuzzSummary(f *testing.F) {
	for _, name := range []string{"15-simple", "15-rate-limit", "15-connect", "13-simple", "18-simple", "15-no-transactions"} {
		stdout, _ := recorded(f, name)
		f.Add(stdout)
	}
	f.Fuzz(func(t *testing.T, stdout string) {
		summary, err := ParseSummary(stdout)
		if err != nil {
			return
		}
		if summary.TPS <= 0 || summary.Transactions < 0 || summary.LatencyMS == nil || summary.ClientVersion == "" {
			t.Errorf("an incomplete summary was taken for a complete one: %+v", summary)
		}
	})
}
