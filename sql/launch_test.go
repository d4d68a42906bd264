package sql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// launch inserts into lab.launches and returns what it answers.
func launch(t testing.TB, conn *pgx.Conn, lane string) string {
	t.Helper()
	return one[string](t, conn, "INSERT INTO lab.launches (lane) VALUES ($1) RETURNING coalesce(run, '-') || ': ' || note", lane)
}

func wantLaunch(t testing.TB, conn *pgx.Conn, lane, want string) {
	t.Helper()
	if got := launch(t, conn, lane); got != want {
		t.Errorf("launch answers %q, want %q", got, want)
	}
}

func TestLaunchesTakeTheQueueInOrder(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		wantLaunch(t, operator, "default", "-: queue is empty")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) SELECT r, 'pg16' FROM unnest(ARRAY['third', 'fourth', 'last']) r")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster, queued_at) VALUES ('second', 'pg16', '2020-01-02'), ('first', 'pg16', '2020-01-01')")
		var started []string
		for range 5 {
			answer := launch(t, operator, "default")
			started = append(started, answer[:strings.Index(answer, ":")])
			exec(t, v.owner, "UPDATE lab.runs SET state = 'done' WHERE state = 'launched'")
			v.release(t, "default")
		}
		if diff := cmp.Diff([]string{"first", "second", "third", "fourth", "last"}, started); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAHeldLaneSaysWhatItIsDoing(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')")
		wantLaunch(t, operator, "default", "x: started x, 1 more queued")
		wantLaunch(t, operator, "default", "-: x is launched")
		exec(t, v.owner, "UPDATE lab.runs SET state = 'preparing' WHERE run = 'x'")
		wantLaunch(t, operator, "default", "-: x is preparing")
		exec(t, v.owner, "UPDATE lab.runs SET state = 'running', window_start = clock_timestamp() + interval '1 hour' WHERE run = 'x'")
		wantLaunch(t, operator, "default", "-: x is running, 3660 s left")
		exec(t, v.owner, "UPDATE lab.runs SET window_start = clock_timestamp() - interval '1 hour' WHERE run = 'x'")
		wantLaunch(t, operator, "default", "-: x is running, finishing")
		exec(t, operator, "UPDATE lab.runs SET state = 'canceled' WHERE run = 'x'")
		wantLaunch(t, operator, "default", "-: x is being stopped")
		exec(t, operator, "UPDATE lab.runs SET state = 'queued' WHERE run = 'x'")
		wantLaunch(t, operator, "default", "-: x is being stopped")
		got := one[string](t, v.as(t, "viewer"), "SELECT lane || ' ' || run || ' ' || note FROM lab.launches")
		if got != "default x x is being stopped" {
			t.Errorf("lab.launches shows %q", got)
		}
		v.release(t, "default")
		wantLaunch(t, operator, "default", "y: started y, 1 more queued")
	})
}

func TestALaunchCopiesWhatIsMeasured(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	operator := r.connect(t, "operator")
	exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
	wantLaunch(t, operator, "default", "x: started x, 0 more queued")
	got := one[string](t, r.owner, `SELECT concat_ws(' ', a.run, a.attempt, a.cluster, a.runtime, a.server_version, a.cpu_limit, a.parameters, a.cluster_uid = c.uid,
		a.launched_at = r.started_at, h.lane, h.attempt, h.cluster, h.since = r.started_at)
		FROM lab_private.attempts a JOIN lab.clusters c ON c.name = a.cluster JOIN lab.runs r USING (run) JOIN lab_private.lane_holders h USING (run)`)
	if want := "x 1 pg16 process 17.10 2 {} t t default 1 pg16 t"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

func TestTheQueueWaitsForAClusterInTheMaking(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		operator := v.as(t, "operator")
		exec(t, v.as(t, "admin"), "INSERT INTO lab.clusters (name) VALUES ('slow')")
		v.ready(t, "pg16")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster, seconds, timeout_seconds) VALUES ('x', 'slow', 60, 90), ('y', 'pg16', 60, 90)")
		wantLaunch(t, operator, "default", `-: x waits: cluster "slow" is pending`)
		exec(t, v.owner, "UPDATE lab.clusters SET state = 'creating', message = 'running initdb' WHERE name = 'slow'")
		wantLaunch(t, operator, "default", `-: x waits: cluster "slow" is creating, running initdb`)

		// Not longer than its timeout, however long it was in the queue behind others.
		exec(t, v.owner, "UPDATE lab.runs SET queued_at = queued_at - interval '1 day'")
		wantLaunch(t, operator, "default", `-: x waits: cluster "slow" is creating, running initdb`)
		exec(t, v.owner, "UPDATE lab.clusters SET created_at = created_at - interval '1 day'")
		wantLaunch(t, operator, "default", `-: x waits: cluster "slow" is creating, running initdb`)
		exec(t, v.owner, "UPDATE lab.clusters SET state_since = state_since - interval '1 day'")
		wantLaunch(t, operator, "default", "y: started y, 0 more queued; 1 run could not start and failed: see message in lab.runs")
		want := `failed 0 timed out after 90 s: cluster "slow" is creating, running initdb; once it is ready, UPDATE lab.runs SET state = 'queued' WHERE run = 'x'`
		if got := runState(t, v, "x"); got != want {
			t.Errorf("the run is %q", got)
		}
	})
}

func TestTheQueuePassesRunsThatCannotStart(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "gone", "broken", "pg16")
		operator := v.as(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('a', 'gone'), ('b', 'broken'), ('c', 'pg16'), ('d', 'gone')")
		exec(t, v.as(t, "admin"), "DELETE FROM lab.clusters WHERE name = 'gone'")
		exec(t, v.owner, "UPDATE lab.clusters SET state = 'failed', message = 'no space left' WHERE name = 'broken'")
		wantLaunch(t, operator, "default", "c: started c, 1 more queued; 2 runs could not start and failed: see message in lab.runs")
		got := column[string](t, operator, "SELECT concat_ws(' ', run, state, message) FROM lab.runs WHERE run IN ('a', 'b') AND finished_at IS NOT NULL ORDER BY run")
		want := []string{
			`a failed cluster "gone" does not exist any more; insert it again, then UPDATE lab.runs SET state = 'queued' WHERE run = 'a'`,
			`b failed cluster "broken" failed: no space left; once it is ready, UPDATE lab.runs SET state = 'queued' WHERE run = 'b'`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		v.release(t, "default")
		wantLaunch(t, operator, "default", "-: queue is empty; 1 run could not start and failed: see message in lab.runs")
	})
}

func TestALaneCoolsDown(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator := v.as(t, "operator")
		exec(t, v.as(t, "admin"), "UPDATE lab.lanes SET cooldown_seconds = 3600")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')")
		wantLaunch(t, operator, "default", "x: started x, 1 more queued")
		v.release(t, "default")
		wantLaunch(t, operator, "default", "-: cooling down, 3600 s left")
		exec(t, v.owner, "UPDATE lab_private.lane_releases SET released_at = released_at - interval '1 hour'")
		wantLaunch(t, operator, "default", "y: started y, 0 more queued")
	})
}

// A transaction with an old snapshot must not act on it: neither start a
// second run nor skip the cooldown.
func TestAnOldSnapshotLaunchesNothing(t *testing.T) {
	for _, major := range engineMajors {
		r := newRoom(t, major)
		r.ready(t, "pg16")
		operator, other := r.connect(t, "operator"), r.connect(t, "operator")
		exec(t, r.owner, "UPDATE lab.lanes SET cooldown_seconds = 3600")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')")
		exec(t, other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		exec(t, other, "SELECT FROM lab.lanes")
		wantLaunch(t, operator, "default", "x: started x, 1 more queued")
		r.release(t, "default")
		wantLaunch(t, other, "default", "-: another session changed the queue just now; look again")
		exec(t, other, "COMMIT")
		wantLaunch(t, other, "default", "-: cooling down, 3600 s left")
	}
}

func TestAnOpenLaunchMakesOthersAnswer(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		operator, other := v.as(t, "operator"), v.open(t, "operator")
		exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')")
		exec(t, operator, "BEGIN")
		wantLaunch(t, operator, "default", "x: started x, 1 more queued")
		wantLaunch(t, other, "default", "-: another session is starting a run in this lane")
		exec(t, operator, "ROLLBACK")

		exec(t, operator, "BEGIN")
		exec(t, operator, "UPDATE lab.runs SET clients = 4 WHERE run = 'x'")
		wantLaunch(t, other, "default", "-: another session changed the queue just now; look again")
		exec(t, operator, "COMMIT")
		wantLaunch(t, other, "default", "x: started x, 1 more queued")
	})
}

func TestARetriedRunWaitsForItsLastAttempt(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	exec(t, r.owner, "INSERT INTO lab.lanes (lane) VALUES ('other')")
	operator := r.connect(t, "operator")
	exec(t, operator, "INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16')")
	wantLaunch(t, operator, "default", "x: started x, 0 more queued")
	exec(t, operator, "UPDATE lab.runs SET state = 'canceled'")
	exec(t, operator, "UPDATE lab.runs SET state = 'queued', lane = 'other'")
	wantLaunch(t, operator, "other", "-: x waits: its previous attempt, in another lane, is still being stopped")
	r.release(t, "default")
	wantLaunch(t, operator, "other", "x: started x, 0 more queued")
}

func TestLaunchesAreRefusedInWords(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		operator := v.as(t, "operator")
		refused(t, operator, refusal{"23503", `lane "fast" does not exist`, "There are: default."}, "INSERT INTO lab.launches (lane) VALUES ('fast')")
		refused(t, operator, refusal{"22023", "not one by name", "UPDATE lab.runs SET queued_at = '-infinity' WHERE run = 'x'"},
			"INSERT INTO lab.launches (run) VALUES ('x')")
	})
}
