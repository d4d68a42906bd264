package sql_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestLanesAreMadeAndKept(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		v.ready(t, "pg16")
		admin, operator := v.as(t, "admin"), v.as(t, "operator")
		exec(t, admin, "INSERT INTO lab.lanes (lane) VALUES ('big')")
		if got := one[string](t, admin, "SELECT concat_ws(' ', autolaunch, cooldown_seconds) FROM lab.lanes WHERE lane = 'big'"); got != "f 0" {
			t.Errorf("a new lane has %q", got)
		}
		exec(t, admin, "UPDATE lab.lanes SET autolaunch = true, cooldown_seconds = 1.5 WHERE lane = 'big'")

		refused(t, admin, refusal{"23502", "lane is missing", "a name"}, "INSERT INTO lab.lanes (autolaunch) VALUES (true)")
		refused(t, admin, refusal{"42602", `lane "a b"`, "letters"}, "INSERT INTO lab.lanes (lane) VALUES ('a b')")
		refused(t, admin, refusal{"22023", "cooldown_seconds must be", "0"}, "UPDATE lab.lanes SET cooldown_seconds = -1")
		refused(t, admin, refusal{"22023", "cooldown_seconds must be", "0"}, "UPDATE lab.lanes SET cooldown_seconds = 'NaN'")
		refused(t, admin, refusal{"55006", `lane "big" cannot be renamed`, "another lane"}, "UPDATE lab.lanes SET lane = 'small' WHERE lane = 'big'")
		refused(t, admin, refusal{"55006", `lane "default" is where runs go`, "stays"}, "DELETE FROM lab.lanes WHERE lane = 'default'")

		exec(t, operator, "INSERT INTO lab.runs (run, cluster, lane) VALUES ('x', 'pg16', 'big')")
		refused(t, admin, refusal{"55006", `lane "big" has 1 run queued`, "UPDATE lab.runs SET lane"}, "DELETE FROM lab.lanes WHERE lane = 'big'")
		wantLaunch(t, operator, "big", "x: started x, 0 more queued")
		refused(t, admin, refusal{"55006", `lane "big" is held by run "x"`, "cancel"}, "DELETE FROM lab.lanes WHERE lane = 'big'")
		v.release(t, "big")
		exec(t, admin, "DELETE FROM lab.lanes WHERE lane = 'big'")

		refused(t, operator, refusal{code: "42501", message: "permission denied"}, "INSERT INTO lab.lanes (lane) VALUES ('x')")
	})
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	r := newRoom(t, 15)
	r.ready(t, "pg16")
	exec(t, r.owner, "INSERT INTO lab.lanes (lane) VALUES ('big')")
	operator := r.connect(t, "operator")
	exec(t, operator, "INSERT INTO lab.runs (run, cluster, lane) VALUES ('x', 'pg16', NULL), ('y', 'pg16', 'big')")
	wantLaunch(t, operator, "default", "x: started x, 0 more queued")
	wantLaunch(t, operator, "big", "y: started y, 0 more queued")
}

func TestWhatChangesIsNotified(t *testing.T) {
	ready := "UPDATE lab.clusters SET state = 'ready'" // which is the lab's to write
	changes := []struct {
		statement string
		payloads  []string
	}{
		{"INSERT INTO lab.clusters (name) VALUES ('pg16')", []string{"clusters"}},
		{ready, []string{"clusters"}},
		{"INSERT INTO lab.runs (run, cluster) VALUES ('x', 'pg16'), ('y', 'pg16')", []string{"runs"}},
		{"INSERT INTO lab.launches DEFAULT VALUES", []string{"runs"}},
		{"UPDATE lab.runs SET state = 'canceled' WHERE run = 'x'", []string{"runs"}},
		{"DELETE FROM lab.runs WHERE run = 'x'", []string{"runs"}},
		{"UPDATE lab.lanes SET autolaunch = true", []string{"lanes"}},
		{"DELETE FROM lab.clusters", []string{"runs", "clusters"}},
	}
	eachDoor(t, func(t *testing.T, v *visit) {
		listener := v.connect(t, "viewer")
		exec(t, listener, "LISTEN lab")
		for _, change := range changes {
			conn := v.as(t, "admin")
			if change.statement == ready {
				conn = v.owner
			}
			exec(t, conn, change.statement)
			for _, want := range change.payloads {
				if got := notification(t, listener); got != want {
					t.Errorf("%s: notified %q, want %q", change.statement, got, want)
				}
			}
		}
	})
}

// notification is the payload of the next one.
func notification(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatalf("waiting for a notification: %v", err)
	}
	return n.Payload
}
