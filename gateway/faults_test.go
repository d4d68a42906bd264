package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pglab/internal/testenv"
)

func TestServerKilledInMidRunFailsTheRunAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "killed", "", "")
	startRunning(t, lab, "killed")
	found, err := filepath.Glob(filepath.Join(lab.Dir, "servers", "killed-*", "data"))
	if err != nil || len(found) != 1 {
		t.Fatalf("data directories %v, %v", found, err)
	}
	if err := syscall.Kill(postmasterPID(t, found[0]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if state, message := ended(t, lab, "killed-1"); state != "failed" || !strings.Contains(message, "server") {
		t.Errorf("the run is %s: %s", state, message)
	}
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'killed'", "ready", patience)
	if message := lab.Query(t, "SELECT message FROM lab.clusters WHERE name = 'killed'"); !strings.Contains(message, "kill") {
		t.Errorf("the cluster's message does not say what happened: %q", message)
	}
}

func TestPgbenchKilledFailsTheRun(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "clientless", "", "")
	startRunning(t, lab, "clientless")
	killed := false
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name, _ := os.ReadFile("/proc/" + entry.Name() + "/comm")
		place, _ := os.Readlink("/proc/" + entry.Name() + "/cwd")
		if strings.TrimSpace(string(name)) == "pgbench" && strings.HasPrefix(place, lab.Dir) && strings.Contains(place, "clientless") {
			pid, _ := strconv.Atoi(entry.Name())
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	if !killed {
		t.Fatal("pgbench was not found")
	}
	if state, message := ended(t, lab, "clientless-1"); state != "failed" || !strings.Contains(message, "signal (killed)") {
		t.Errorf("the run is %s: %s", state, message)
	}
}

func TestRunTimesOut(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "slow", "", "")
	lane(t, lab, "slow")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, clients, seconds, init, timeout_seconds, script)
		VALUES ('slow-1', 'slow', 'slow', 1, 1, 'never', 15, 'SELECT pg_sleep(600);')`)
	if state, message := ended(t, lab, "slow-1"); state != "failed" || !strings.HasPrefix(message, "timed out after 15 s while ") {
		t.Errorf("the run is %s: %s", state, message)
	}
}

func TestFailingScriptShowsItsErrorInTheMessage(t *testing.T) {
	t.Parallel()
	lab := sharedLab(t)
	ready(t, lab, "erring", "", "")
	lane(t, lab, "erring")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, clients, seconds, init, script)
		VALUES ('erring-1', 'erring', 'erring', 1, 1, 'never', 'SELECT no_such_function();')`)
	if state, message := ended(t, lab, "erring-1"); state != "failed" || !strings.Contains(message, "no_such_function() does not exist") {
		t.Errorf("the run is %s: %s", state, message)
	}
}

func TestEngineKilledInMidRunCostsNothing(t *testing.T) {
	t.Parallel()
	lab := testenv.StartLab(t)
	ready(t, lab, "steady", "", "")
	lane(t, lab, "steady")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('steady-1', 'steady', 'steady', 1, 2, 6)`)
	lab.Await(t, "SELECT count(*) > 0 FROM lab.progress", "t", patience)
	if err := syscall.Kill(postmasterPID(t, filepath.Join(lab.Dir, "engine", "data")), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "the run is done", func() bool {
		out := lab.Psql(t.Context(), t, "-qAtc", "SELECT state, tps > 0, "+measuredOrExplained("pg_cpu_avg > 0")+" FROM lab.results")
		return strings.TrimSpace(out.Stdout) == "done|t|t"
	})
	if got := lab.Query(t, "SELECT count(*) BETWEEN 5 AND 7, count(*) = count(DISTINCT at) FROM lab.progress"); got != "t|t" {
		t.Errorf("progress is not whole: %s", lab.Query(t, "SELECT array_agg(at::time ORDER BY at) FROM lab.progress"))
	}
}

// startRunning queues run NAME-1 on a cluster, in a lane of its own, and returns
// when pgbench works.
func startRunning(t *testing.T, lab *testenv.Lab, cluster string) {
	t.Helper()
	lane(t, lab, cluster)
	lab.Query(t, "INSERT INTO lab.runs (run, cluster, lane, scale, clients, seconds) VALUES ('"+cluster+"-1', '"+cluster+"', '"+cluster+"', 1, 2, 600)")
	lab.Await(t, "SELECT count(*) > 0 FROM lab.progress WHERE run = '"+cluster+"-1'", "t", patience)
}
