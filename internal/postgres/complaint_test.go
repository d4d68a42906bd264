package postgres

import "testing"

func TestComplaint(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"fatal with hint": {
			"2026-01-01 00:00:00.000 UTC [1] LOG:  starting PostgreSQL 15.18\n" +
				"2026-01-01 00:00:00.000 UTC [1] FATAL:  could not map anonymous shared memory: Cannot allocate memory\n" +
				"2026-01-01 00:00:00.000 UTC [1] HINT:  Ask for less.\n" +
				"2026-01-01 00:00:00.000 UTC [1] LOG:  database system is shut down\n",
			"FATAL: could not map anonymous shared memory: Cannot allocate memory; HINT: Ask for less.",
		},
		"settings refused": {
			"2026-01-01 00:00:00.000 UTC [1] LOG:  database system is shut down\n" +
				"2026-01-01 00:00:00.000 GMT [2] LOG:  invalid value for parameter \"work_mem\": \"much\"\n" +
				"2026-01-01 00:00:00.000 GMT [2] LOG:  unrecognized configuration parameter \"x\" in file \"/c\" line 2\n" +
				"2026-01-01 00:00:00.000 GMT [2] FATAL:  configuration file \"/c\" contains errors\n",
			"invalid value for parameter \"work_mem\": \"much\"; unrecognized configuration parameter \"x\" in file \"/c\" line 2",
		},
		"no fatal":  {"one\ntwo\n", "one; two"},
		"last wins": {"[1] FATAL:  old\n[2] PANIC:  new\n", "PANIC: new"},
		"empty":     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Complaint(test.log); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestLastWords(t *testing.T) {
	const ready = "2026-01-01 00:00:00.000 UTC [7] LOG:  database system is ready to accept connections\n"
	for name, test := range map[string]struct{ log, want string }{
		"told to stop": {
			"2026-01-01 00:00:00.000 UTC [7] LOG:  starting PostgreSQL 15.18\n" + ready +
				"2026-01-01 00:00:01.000 UTC [9] FATAL:  connection to client lost\n" +
				"2026-01-01 00:00:02.000 UTC [7] LOG:  received fast shutdown request\n" +
				"2026-01-01 00:00:02.000 UTC [8] LOG:  checkpoint starting: shutdown immediate\n" +
				"2026-01-01 00:00:02.000 UTC [7] LOG:  database system is shut down\n",
			"received fast shutdown request; database system is shut down",
		},
		"killed":       {ready + "2026-01-01 00:00:01.000 UTC [9] FATAL:  connection to client lost\n", ""},
		"other prefix": {"LOG:  received fast shutdown request\n", ""},
		"empty":        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LastWords(test.log, 7); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
