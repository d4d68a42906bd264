package sql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunsAreFilledIn(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (cluster) VALUES ('pg16')")
		exec(t, operator, `INSERT INTO lab.runs (run, cluster, script, clients, threads, seconds, warmup_seconds, rate, experiment, round, position)
			 VALUES ('Own_name.1', 'pg16', 'SELECT 1;', 4, 2, 30, 5, 100, 'effect', 0, 1)`)
		got := column[string](t, operator, `SELECT concat_ws(' | ', run, lane, scale, clients, threads, seconds, warmup_seconds, protocol, builtin, script, rate,
			init, timeout_seconds, experiment, round, position, queue_no, state, message, attempt) FROM lab.runs ORDER BY queue_no`)
		want := []string{
			"pg16-1 | default | 10 | 8 | 1 | 60 | 0 | simple | tpcb-like | auto | 660 | 1 | queued | 0",
			"Own_name.1 | default | 10 | 4 | 2 | 30 | 5 | simple | SELECT 1; | 100 | auto | 635 | effect | 0 | 1 | 2 | queued | 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADefaultNameIsNeverTaken(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	operator := r.connect(t, "operator")
	exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('pg16-2', 'pg16'), ('pg16-3', 'pg16')")
	exec(t, operator, "INSERT INTO lab.runs (cluster) VALUES ('pg16')")
	if got := one[string](t, operator, "SELECT max(run) FROM lab.runs"); got != "pg16-4" {
		t.Errorf("the run is called %s", got)
	}
}

func TestBadRunsAreRefusedInWords(t *testing.T) {
	tests := map[string]struct {
		columns string // besides cluster
		values  string
		want    refusal
	}{
		"name with slash":     {"run", `'a/b'`, refusal{"42602", `run "a/b" is not a valid name`, "letters, digits"}},
		"name like a flag":    {"run", `'-f'`, refusal{"42602", `run "-f"`, "begin with a letter or digit"}},
		"name for a shell":    {"run", `$x$a'; $(reboot) "$x$`, refusal{"42602", "$(reboot)", "letters, digits"}},
		"name of 64":          {"run", `repeat('a', 64)`, refusal{"42602", "aaa", "63 characters"}},
		"lane":                {"lane", `'fast'`, refusal{"23503", `lane "fast" does not exist`, "There are: default."}},
		"scale 0":             {"scale", `0`, refusal{"22023", "scale must be between 1 and 100000, not 0", "10"}},
		"clients 0":           {"clients", `0`, refusal{"22023", "clients must be between 1 and 10000, not 0", "8"}},
		"threads":             {"clients, threads", `4, 5`, refusal{"22023", "threads must be between 1 and 4, not 5", "clients"}},
		"seconds 0":           {"seconds", `0`, refusal{"22023", "seconds must be between 1 and", "60"}},
		"seconds for ever":    {"seconds", `2147483647`, refusal{"22023", "seconds must be between 1 and", "a week"}},
		"warm-up":             {"warmup_seconds", `-1`, refusal{"22023", "warmup_seconds must be between 0 and", "no warm-up"}},
		"timeout too short":   {"seconds, warmup_seconds, timeout_seconds", `60, 10, 70`, refusal{"22023", "timeout_seconds must be between 71 and", "preparing"}},
		"protocol":            {"protocol", `'fast'`, refusal{"22023", `protocol "fast" is not known`, "simple, extended, prepared"}},
		"init":                {"init", `'maybe'`, refusal{"22023", `init "maybe" is not known`, "auto, always, never"}},
		"builtin":             {"builtin", `'tpcb'`, refusal{"22023", `builtin "tpcb" is not known`, "tpcb-like, simple-update, select-only"}},
		"builtin and script":  {"builtin, script", `'select-only', 'SELECT 1'`, refusal{"22023", "builtin and script are both given", "one of them"}},
		"empty script":        {"script", `E' ;\n'`, refusal{"22023", "script has no command", "builtin"}},
		"long script":         {"script", `repeat('SELECT 1;', 120000)`, refusal{"22023", "more than 1 MiB", "Shorten"}},
		"shell":               {"script", `E'SELECT 1;\n\\shell reboot'`, refusal{"22023", `\shell`, `\set`}},
		"setshell":            {"script", `E'\\setshell x echo 1'`, refusal{"22023", `\shell`, `\set`}},
		"shell in a line":     {"script", `E'SELECT 1 \\SHELL reboot'`, refusal{"22023", `\shell`, `\set`}},
		"shell after blanks":  {"script", `E'  \\ \t shell reboot'`, refusal{"22023", `\shell`, `\set`}},
		"shell continued":     {"script", `E'\\\\\nshell reboot'`, refusal{"22023", `\shell`, `\set`}},
		"rate 0":              {"rate", `0`, refusal{"22023", "rate must be between", "as fast as possible"}},
		"rate not a number":   {"rate", `'NaN'`, refusal{"22023", "rate must be between", "as fast as possible"}},
		"client image":        {"client_image", `'a b'`, refusal{"22023", `client_image "a b"`, "docker pull"}},
		"client too old":      {"client_version", `'13.23'`, refusal{"22023", `client_version "13.23" is too old`, "14 or newer"}},
		"client version":      {"client_version", `'v17'`, refusal{"22023", `client_version "v17"`, "'17'"}},
		"client cpu":          {"client_cpu", `'two'`, refusal{"22023", `client_cpu "two"`, "'500m'"}},
		"experiment":          {"experiment", `'a/b'`, refusal{"42602", `experiment "a/b"`, "letters, digits"}},
		"round":               {"round", `-1`, refusal{"22023", "round must be between 0", "from 0"}},
		"position":            {"position", `-1`, refusal{"22023", "position must be between 0", "from 0"}},
		"state":               {"state", `'done'`, refusal{"42501", "status columns of lab.runs", "Leave out"}},
		"attempt":             {"attempt", `3`, refusal{"42501", "status columns of lab.runs", "Leave out"}},
		"queue number":        {"queue_no", `0`, refusal{"42501", "status columns of lab.runs", "Leave out"}},
		"message of the user": {"message", `'hello'`, refusal{"42501", "status columns of lab.runs", "Leave out"}},
	}
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16", "pg17")
		operator := v.as(t, "operator")
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				refused(t, operator, test.want, "INSERT INTO lab.runs (cluster, "+test.columns+") VALUES ('pg16', "+test.values+")")
			})
		}
		refused(t, operator, refusal{"23502", "cluster is missing", "lab.clusters"}, "INSERT INTO lab.runs (run) VALUES ('x')")
		refused(t, operator, refusal{"23503", `cluster "pg99" does not exist`, "There are: pg16, pg17."}, "INSERT INTO lab.runs (cluster) VALUES ('pg99')")
		exec(t, v.as(t, "admin"), "DELETE FROM lab.clusters")
		refused(t, operator, refusal{"23503", `cluster "pg16" does not exist`, "There is none yet"}, "INSERT INTO lab.runs (cluster) VALUES ('pg16')")
		if n := one[int](t, v.owner, "SELECT count(*) FROM lab.runs"); n != 0 {
			t.Errorf("%d rows were left behind", n)
		}
	})
}

func TestLongScriptsArriveWhole(t *testing.T) {
	script := strings.Repeat("SELECT 1; -- ü\n", 1024*1024/16)
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster, script) VALUES ('x', 'pg16', $1)", script)
		if got := one[string](t, operator, "SELECT script FROM lab.runs"); got != script {
			t.Errorf("script has %d bytes after %d were sent", len(got), len(script))
		}
	})
}

func TestSettingsChangeBeforeTheFirstLaunch(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		exec(t, operator, "UPDATE lab.runs SET clients = 16, script = 'SELECT 1' WHERE run = 'x'")
		exec(t, operator, "UPDATE lab.runs SET seconds = NULL WHERE queued_at < now()")
		got := one[string](t, operator, "SELECT concat_ws(' ', clients, builtin, script, seconds) FROM lab.runs")
		if got != "16 SELECT 1 60" {
			t.Errorf("settings are %q", got)
		}
		refused(t, operator, refusal{"22023", "clients must be", "8"}, "UPDATE lab.runs SET clients = 0 WHERE run = 'x'")
		refused(t, operator, refusal{"23503", `"pg99" does not exist`, "pg16"}, "UPDATE lab.runs SET cluster = 'pg99' WHERE run = 'x'")

		exec(t, operator, "INSERT INTO lab.launches DEFAULT VALUES")
		frozen := refusal{"55006", `the settings of run "x" cannot be changed`, "Insert another run"}
		refused(t, operator, frozen, "UPDATE lab.runs SET clients = 8 WHERE run = 'x'")
		refused(t, operator, refusal{"55006", `run "x" is launched`, "while a run is queued"}, "UPDATE lab.runs SET timeout_seconds = 9000 WHERE run = 'x'")
		exec(t, v.owner, "UPDATE lab.runs SET state = 'done'")
		refused(t, operator, frozen, "UPDATE lab.runs SET state = 'queued', clients = 8 WHERE run = 'x'")
	})
}

func TestTenThousandRunsAreQueuedAtOnce(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	operator := r.connect(t, "operator")
	exec(t, operator, "INSERT INTO lab.runs (cluster) SELECT 'pg16' FROM generate_series(1, 10000)")
	if n := one[int](t, operator, "SELECT count(DISTINCT run) FROM lab.runs WHERE run = cluster || '-' || queue_no"); n != 10000 {
		t.Errorf("%d runs are queued", n)
	}
	exec(t, operator, "DELETE FROM lab.runs")
	if n := one[int](t, operator, "SELECT count(*) FROM lab.removals"); n != 0 {
		t.Errorf("runs that were never launched left %d removals", n)
	}
}

func TestViewersOnlyRead(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		viewer := v.as(t, "viewer")
		for _, relation := range []string{"clusters", "runs", "lanes", "usage", "results", "measurements", "progress", "logs", "launches", "removals", "runtimes"} {
			exec(t, viewer, "SELECT * FROM lab."+relation)
		}
		for _, statement := range []string{
			"INSERT INTO lab.runs (cluster) VALUES ('pg16')", "DELETE FROM lab.runs", "UPDATE lab.runs SET state = 'canceled'",
			"INSERT INTO lab.launches DEFAULT VALUES", "SELECT * FROM lab.roles", "INSERT INTO lab.roles (role) VALUES ('x')",
			"INSERT INTO lab.lanes (lane) VALUES ('x')", "DELETE FROM lab.usage",
		} {
			refused(t, viewer, refusal{code: "42501", message: "permission denied"}, statement)
		}
	})
}
