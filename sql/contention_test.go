package sql_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"pglab/internal/testenv"
)

// witness records, inside each launch, how many queued runs were before the
// one that was started.
const witness = `
	CREATE TABLE public.witness (run text, attempt integer, passed_over integer);
	CREATE FUNCTION public.witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
	BEGIN
		INSERT INTO public.witness SELECT NEW.run, NEW.attempt, count(*) FROM lab.runs first, lab.runs r
		 WHERE r.run = NEW.run AND first.lane = r.lane AND first.state = 'queued' AND (first.queued_at, first.queue_no) < (r.queued_at, r.queue_no);
		RETURN NULL;
	END $$;
	CREATE TRIGGER witness AFTER INSERT ON lab_private.lane_holders FOR EACH ROW EXECUTE FUNCTION public.witness();`

// Thirty sessions that launch, directly and through postgres_fdw of every
// major, four psql with launch.sql, and users who cancel, retry and delete
// meanwhile: no launch may fail, start a second run or pass one over.
func TestThirtySchedulersStartOneRunAtATime(t *testing.T) {
	for _, engine := range engineMajors {
		t.Run(fmt.Sprint(engine), func(t *testing.T) { contend(t, engine) })
	}
}

func contend(t *testing.T, engine int) {
	r := newRoom(t, engine)
	r.ready(t, "pg16")
	exec(t, r.owner, witness)
	t.Cleanup(func() {
		exec := func(statement string) { _, _ = r.owner.Exec(context.Background(), statement) } // the next room is made anew then
		exec("DROP FUNCTION public.witness() CASCADE")
		exec("DROP TABLE public.witness")
	})
	operator := r.connect(t, "operator")
	const runs = 90
	exec(t, operator, "INSERT INTO lab.runs (run, cluster) SELECT 'r' || i, 'pg16' FROM generate_series(1, $1::integer) i", runs)

	visits := []*visit{{room: r, door: door{engine: engine}}}
	for _, own := range testenv.Majors() {
		visits = append(visits, &visit{room: r, door: door{engine: engine, own: own}})
	}
	var users, schedulers []*pgx.Conn
	for _, v := range visits {
		users = append(users, v.open(t, "operator"))
		for range 5 {
			schedulers = append(schedulers, v.open(t, "operator"))
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	emptied, empty := context.WithCancel(ctx) // ends when the queue is empty and the lane free
	defer empty()
	group, groupCtx := errgroup.WithContext(ctx)
	var started atomic.Int64
	for _, conn := range schedulers {
		group.Go(func() error { return keepLaunching(groupCtx, emptied, conn, &started) })
	}
	for _, v := range []*visit{visits[0], visits[0], visits[1], visits[5]} {
		url := v.url(t, "operator")
		group.Go(func() error { return watch(emptied, t, url) })
	}
	for i, statement := range []string{
		"UPDATE lab.runs SET state = 'canceled' WHERE run = (SELECT run FROM lab.runs WHERE state NOT IN ('done', 'failed', 'canceled') ORDER BY random() LIMIT 1)",
		"DELETE FROM lab.runs WHERE run = (SELECT run FROM lab.runs ORDER BY random() LIMIT 1)",
		"UPDATE lab.runs SET state = 'queued' WHERE run = (SELECT run FROM lab.runs WHERE state IN ('done', 'canceled') ORDER BY finished_at LIMIT 1)",
	} {
		group.Go(func() error { return disturb(groupCtx, emptied, users[i], 15, statement) })
	}
	group.Go(func() error {
		defer empty()
		return control(groupCtx, r.owner)
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}

	if n := one[int](t, r.owner, "SELECT count(*) FROM public.witness WHERE passed_over > 0"); n != 0 {
		t.Errorf("%d launches passed a run over", n)
	}
	seen := one[int64](t, r.owner, "SELECT count(*) FROM public.witness")
	if answered := started.Load(); answered > seen {
		t.Errorf("%d launches said that they started a run, and %d did", answered, seen)
	}
	if seen < runs/2 {
		t.Errorf("only %d runs were started", seen)
	}
	t.Logf("%d launches, %d of them answered to a session of this test", seen, started.Load())
}
