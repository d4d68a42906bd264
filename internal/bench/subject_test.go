package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/testenv"
)

// patience bounds every wait for something that surely comes.
const patience = 3 * time.Minute

// What every run asks for: so many transactions a second that what the lab
// adds to each of them would show.
const (
	cluster = "subject"
	scale   = 10
	clients = 4
	builtin = "select-only"
)

// subject is a lab with one server that has its data set.
type subject struct {
	*testenv.Lab
	room      *pgx.Conn // a user's session in the control room
	socketDir string    // of the server
	account   *syscall.Credential
	groups    []string // the server's control groups
	pgbench   string   // the program that the lab takes, too
	runs      int      // named so far
	server    groupCounter
	workload  groupCounter
	engine    int // pid of its postmaster
}

func newSubject(b *testing.B) *subject {
	b.Helper()
	s := &subject{Lab: testenv.StartLab(b)}
	s.room = s.Connect(b, "lab")
	s.exec(b, "LISTEN lab")
	s.exec(b, `INSERT INTO lab.clusters (name, parameters) VALUES ($1, '{"shared_buffers": "256MB", "autovacuum": "off"}')`, cluster)
	s.await(b, `SELECT state = 'ready' FROM lab.clusters WHERE name = $1`, cluster)
	endpoint := value[string](b, s, `SELECT endpoint FROM lab.clusters WHERE name = $1`, cluster)
	s.socketDir = strings.TrimPrefix(endpoint, "unix socket in ")

	installations, err := postgres.Find(b.Context(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	client, err := installations.Client("")
	if err != nil {
		b.Fatal(err)
	}
	s.pgbench = client.Program("pgbench")

	found, err := filepath.Glob(filepath.Join(s.Dir, "servers", cluster+"-*", "data"))
	if err != nil || len(found) != 1 {
		b.Fatalf("data directories of the server: %v, %v", found, err)
	}
	s.engine = postmaster(b, filepath.Join(s.Dir, "engine", "data"))
	s.account = owner(b, found[0])
	s.findGroups(b, postmaster(b, found[0]))
	say("making the data set of scale %d, with %s", scale, s.pgbench)
	s.measure(b, launchSeconds)
	return s
}

// findGroups finds the control groups that the runtime made for the server.
func (s *subject) findGroups(b *testing.B, pid int) {
	b.Helper()
	groups, err := cgroup.Host{}.Groups(pid)
	if err != nil {
		b.Fatal(err)
	}
	for _, group := range groups {
		if strings.HasPrefix(filepath.Base(group.Path), "server-") {
			s.groups = append(s.groups, group.Dir)
		}
	}
	counting, visible := groups.Of("cpuacct")
	if !visible || len(s.groups) == 0 {
		b.Fatal("the server has no control group of its own; run this as root, or in a delegated group")
	}
	s.server = counterIn(counting, counting.Dir)
	s.workload = counterIn(counting, filepath.Dir(counting.Dir))
}

// cpu reads the CPU times of everybody now.
func (s *subject) cpu() (now cpuTimes, err error) {
	if now.server, err = s.server.read(); err != nil {
		return now, err
	}
	if now.workload, err = s.workload.read(); err != nil {
		return now, err
	}
	if now.pglab, err = processTime(s.PID()); err != nil {
		return now, err
	}
	now.engine, err = familyTime(s.engine)
	return now, err
}

// others starts to watch what else this machine does. The returned function
// says how many cores that took on average since.
func (s *subject) others(b *testing.B) (cores func() float64) {
	b.Helper()
	used := func() time.Duration {
		all, err := machineTime()
		if err != nil {
			b.Fatal(err)
		}
		ours, err := s.cpu()
		if err != nil {
			b.Fatal(err)
		}
		own, err := processTime(os.Getpid())
		if err != nil {
			b.Fatal(err)
		}
		return all - ours.workload - ours.pglab - ours.engine - own
	}
	began, before := time.Now(), used()
	return func() float64 { return max(0, float64(used()-before)/float64(time.Since(began))) }
}

// newRun is the next run of a length, and a name of its own.
func (s *subject) newRun(seconds int) lab.Run {
	s.runs++
	return lab.Run{
		Run: fmt.Sprintf("run-%d", s.runs), Cluster: cluster,
		Scale: scale, Clients: clients, Threads: 1, Seconds: seconds, Protocol: "prepared", Builtin: builtin,
	}
}

// queue inserts a run.
func (s *subject) queue(b *testing.B, run lab.Run, lane string) {
	b.Helper()
	s.exec(b, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, threads, seconds, protocol, builtin)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		run.Run, run.Cluster, lane, run.Scale, run.Clients, run.Threads, run.Seconds, run.Protocol, run.Builtin)
}

// measure takes a run through the lab and returns its name when its lane is
// free again. The run must be done.
func (s *subject) measure(b *testing.B, seconds int) (name string) {
	b.Helper()
	run := s.newRun(seconds)
	s.queue(b, run, "default")
	s.exec(b, `INSERT INTO lab.launches (lane) VALUES ('default')`)
	s.awaitDone(b, run.Run, "default")
	return run.Run
}

// awaitDone waits until a run is done and its lane is free.
func (s *subject) awaitDone(b *testing.B, run, lane string) {
	b.Helper()
	s.await(b, `SELECT state IN ('done', 'failed', 'canceled') FROM lab.runs WHERE run = $1`, run)
	if outcome := value[string](b, s, `SELECT concat_ws(': ', state, message) FROM lab.runs WHERE run = $1`, run); outcome != lab.RunDone {
		b.Fatalf("run %s is %s", run, outcome)
	}
	s.await(b, `SELECT run IS NULL FROM lab.launches WHERE lane = $1`, lane)
}

// await asks again, whenever the lab notifies of a change, until the answer
// is true.
func (s *subject) await(b *testing.B, question string, args ...any) {
	b.Helper()
	const unnotified = 100 * time.Millisecond // the release of a lane is not told
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if value[bool](b, s, question, args...) {
			return
		}
		ctx, cancel := context.WithTimeout(b.Context(), unnotified)
		_, err := s.room.WaitForNotification(ctx)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.Fatalf("waiting for the lab: %v", err)
		}
	}
	b.Fatalf("after %v it is still not so: %s %v", patience, question, args)
}

func (s *subject) exec(b *testing.B, sql string, args ...any) {
	b.Helper()
	if _, err := s.room.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// value is the one value that a query of the control room answers.
func value[T any](b *testing.B, s *subject, sql string, args ...any) T {
	b.Helper()
	rows, err := s.room.Query(b.Context(), sql, args...)
	if err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
	return found
}

func postmaster(b *testing.B, datadir string) (pid int) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(datadir, "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if pid, err = strconv.Atoi(line); err != nil {
		b.Fatal(err)
	}
	return pid
}

// owner is the OS user that a server runs as.
func owner(b *testing.B, datadir string) *syscall.Credential {
	b.Helper()
	info, err := os.Stat(datadir)
	if err != nil {
		b.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}
