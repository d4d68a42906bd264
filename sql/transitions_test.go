package sql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runState is what a user sees of a run.
func runState(t *testing.T, v *visit, run string) string {
	t.Helper()
	return one[string](t, v.as(t, "operator"), "SELECT concat_ws(' ', state, attempt, message) FROM lab.runs WHERE run = $1", run)
}

func TestUsersCancelAndRetry(t *testing.T) {
	cancel := "UPDATE lab.runs SET state = 'canceled' WHERE run = 'x'"
	retry := "UPDATE lab.runs SET state = 'queued' WHERE run = 'x'"
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')")

		exec(t, operator, cancel)
		if got := runState(t, v, "x"); got != "canceled 0 canceled by operator" {
			t.Errorf("a queued run that was canceled is %q", got)
		}
		exec(t, operator, cancel) // once more changes nothing
		exec(t, operator, retry)
		if got := runState(t, v, "x"); got != "queued 0" {
			t.Errorf("a canceled run that was retried is %q", got)
		}
		order := column[string](t, operator, "SELECT run FROM lab.runs ORDER BY queued_at, queue_no")
		if diff := cmp.Diff([]string{"y", "x"}, order); diff != "" {
			t.Errorf("a retried run does not go last: %s", diff)
		}
		exec(t, operator, "UPDATE lab.runs SET queued_at = '-infinity' WHERE run = 'x'") // and so it can go first

		exec(t, operator, "INSERT INTO lab.launches DEFAULT VALUES")
		for _, state := range []string{"launched", "preparing", "warming", "running"} {
			exec(t, v.owner, "UPDATE lab.runs SET state = $1 WHERE run = 'x'", state)
			refused(t, operator, refusal{"55006", `run "x" is ` + state, "Cancel it first"}, retry)
		}
		exec(t, v.owner, "UPDATE lab.runs SET window_start = clock_timestamp() WHERE run = 'x'")
		exec(t, operator, cancel)
		if got := runState(t, v, "x"); got != "canceled 1 canceled by operator" {
			t.Errorf("a running run that was canceled is %q", got)
		}
		exec(t, operator, retry)
		if got := runState(t, v, "x"); got != "queued 1" {
			t.Errorf("a run that was retried after its first attempt is %q", got)
		}
		if one[bool](t, operator, "SELECT num_nonnulls(started_at, window_start, window_end, finished_at) > 0 FROM lab.runs WHERE run = 'x'") {
			t.Error("a retried run keeps times of its last attempt")
		}
	})
}

func TestFinishedRunsAreNotCanceled(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		for _, state := range []string{"done", "failed"} {
			exec(t, v.owner, "UPDATE lab.runs SET state = $1", state)
			refused(t, operator, refusal{"55006", `run "x" is ` + state + " already", "nothing to cancel"}, "UPDATE lab.runs SET state = 'canceled' WHERE run = 'x'")
			exec(t, operator, "UPDATE lab.runs SET state = 'queued' WHERE run = 'x'")
		}
	})
}

func TestOtherStatesAreTheLabs(t *testing.T) {
	want := refusal{"42501", "status columns of lab.runs are written by the lab", "'canceled'"}
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		for _, change := range []string{
			"state = 'done'", "state = 'launched'", "state = 'nonsense'", "state = NULL", "message = 'x'", "attempt = 7", "queue_no = 7",
			"started_at = now()", "window_start = now()", "window_end = now()", "finished_at = now()",
		} {
			refused(t, operator, want, "UPDATE lab.runs SET "+change+" WHERE run = 'x'")
		}
		if got := runState(t, v, "x"); got != "queued 0" {
			t.Errorf("the run is %q now", got)
		}
	})
}

func TestADeletedRunLeavesARemoval(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		exec(t, operator, "INSERT INTO lab.launches DEFAULT VALUES")
		exec(t, operator, "DELETE FROM lab.runs WHERE queued_at < now()")
		if got := one[string](t, operator, "SELECT kind || ' ' || name FROM lab.removals"); got != "run x" {
			t.Errorf("lab.removals has %q", got)
		}
		if got := one[string](t, v.owner, "SELECT uid FROM lab_private.tombstones"); got != "1" {
			t.Errorf("the tombstone is of attempt %s, want 1", got)
		}
		if got := one[string](t, operator, "SELECT note FROM lab.launches"); got != "x is being stopped" {
			t.Errorf("the lane says %q", got)
		}

		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
		v.release(t, "default")
		note := "x waits: the deleted run of that name is still being removed"
		if got := one[string](t, operator, "INSERT INTO lab.launches DEFAULT VALUES RETURNING note"); got != note {
			t.Errorf("the launch says %q", got)
		}
		exec(t, v.owner, "DELETE FROM lab_private.attempts")
		exec(t, v.owner, "DELETE FROM lab_private.tombstones")
		if got := one[string](t, operator, "INSERT INTO lab.launches DEFAULT VALUES RETURNING note"); got != "started x, 0 more queued" {
			t.Errorf("the launch says %q", got)
		}
	})
}
