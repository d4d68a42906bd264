package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pglab/internal/testenv"
)

func TestFirstStartPrintsACommandThatWorks(t *testing.T) {
	lab := sharedLab(t)
	words := strings.Fields(lab.Line) // PGPASSFILE=... psql -h ...
	out := testenv.Psql(t.Context(), t, testenv.Call{
		Args: append(words[2:], "-qAtc", "SELECT current_user, current_database()"), Env: words[:1],
	})
	if out.Code != 0 || strings.TrimSpace(out.Stdout) != "lab|lab" {
		t.Errorf("%s: exit %d, stdout %q, stderr %q", lab.Line, out.Code, out.Stdout, out.Stderr)
	}
	info, err := os.Stat(filepath.Join(lab.Dir, "pgpass"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("password file has mode %v", info.Mode())
	}
}

func TestOwnSocketAsksItsOwnUserForNoPassword(t *testing.T) {
	lab := sharedLab(t)
	out := testenv.Psql(t.Context(), t, testenv.Call{
		Args: []string{"-h", lab.Dir, "-p", lab.Port, "-U", "lab", "-wqAtc", "SELECT 1", "lab"},
	})
	if out.Code != 0 || strings.TrimSpace(out.Stdout) != "1" {
		t.Errorf("exit %d, stdout %q, stderr %q", out.Code, out.Stdout, out.Stderr)
	}
	for _, nobody := range []string{"postgres", "lab_controller", "nobody"} {
		out := testenv.Psql(t.Context(), t, testenv.Call{
			Args: []string{"-h", lab.Dir, "-p", lab.Port, "-U", nobody, "-wqAtc", "SELECT 1", "lab"},
		})
		if out.Code == 0 {
			t.Errorf("%s was let in", nobody)
		}
	}
}

func TestSecondStartKeepsEverythingAndStopLeavesNothing(t *testing.T) {
	lab := testenv.StartLab(t)
	lab.Query(t, "INSERT INTO lab.clusters (name, version) VALUES ('kept', '"+newMajor+"')")
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'kept'", "ready", patience)
	password, uid := lab.Password(t), lab.Query(t, "SELECT uid FROM lab.clusters")

	lab.Stop(t)
	if left := processesOf(t, lab.Dir); len(left) > 0 {
		t.Errorf("processes after the stop: %s", strings.Join(left, "; "))
	}
	if lab.ExitCode() != 0 {
		t.Errorf("exit code %d after SIGTERM", lab.ExitCode())
	}

	lab.Start(t)
	if lab.Password(t) != password {
		t.Error("the password has changed")
	}
	if got := lab.Query(t, "SELECT uid FROM lab.clusters"); got != uid {
		t.Errorf("cluster has uid %s, had %s", got, uid)
	}
	lab.Await(t, "SELECT state FROM lab.clusters WHERE name = 'kept'", "ready", patience)
	if got := onCluster(t, lab, "kept", "SELECT current_user, current_database()"); got != "postgres|kept" {
		t.Errorf("session on the cluster is %q", got)
	}
}

func TestSIGKILLIsFollowedByAdoption(t *testing.T) {
	lab := testenv.StartLab(t)
	lab.Query(t, "INSERT INTO lab.clusters (name, version) VALUES ('adopted', '"+newMajor+"')")
	lab.Await(t, "SELECT state FROM lab.clusters", "ready", patience)
	started := onCluster(t, lab, "adopted", "SELECT pg_postmaster_start_time()")
	engine := lab.Query(t, "SELECT pg_postmaster_start_time()")
	lab.Query(t, `INSERT INTO lab.runs (run, cluster, scale, clients, seconds) VALUES ('adopted-run', 'adopted', 1, 2, 8)`)
	lab.Query(t, "INSERT INTO lab.launches DEFAULT VALUES")
	lab.Await(t, "SELECT state FROM lab.runs", "running", patience)
	lab.Await(t, "SELECT count(*) > 0 FROM lab.progress", "t", patience)

	lab.Kill(t)
	lab.Start(t)
	if got := lab.Query(t, "SELECT pg_postmaster_start_time()"); got != engine {
		t.Errorf("engine started at %s, was adopted at %s before", got, engine)
	}
	if got := onCluster(t, lab, "adopted", "SELECT pg_postmaster_start_time()"); got != started {
		t.Errorf("server started at %s, was running since %s before", got, started)
	}
	lab.Await(t, "SELECT state FROM lab.runs", "done", patience)
	if got := lab.Query(t, "SELECT attempt, tps > 0, "+measuredOrExplained("pg_cpu_avg > 0 AND pgbench_cpu_avg > 0")+" FROM lab.runs JOIN lab.results USING (run)"); got != "1|t|t" {
		t.Errorf("the adopted run has attempt, tps, pg_cpu_avg, pgbench_cpu_avg %s", got)
	}
	duplicates := lab.Query(t, "SELECT count(*) - count(DISTINCT at) FROM lab.progress")
	if duplicates != "0" {
		t.Errorf("%s progress lines were recorded twice", duplicates)
	}
}

func TestStopInMidRunFailsTheRunInWords(t *testing.T) {
	lab := testenv.StartLab(t)
	ready(t, lab, "halted", "", "")
	startRunning(t, lab, "halted")
	lab.Stop(t)
	if left := processesOf(t, lab.Dir); len(left) > 0 {
		t.Errorf("processes after the stop: %s", strings.Join(left, "; "))
	}
	lab.Start(t)
	if state, message := ended(t, lab, "halted-1"); state != "failed" || !strings.HasPrefix(message, "pglab was stopped, and the server with it") {
		t.Errorf("the run is %s: %s", state, message)
	}
	lab.Query(t, "UPDATE lab.runs SET state = 'canceled' WHERE state = 'queued'")
	lab.Await(t, "SELECT count(*) FROM lab.launches WHERE run IS NOT NULL", "0", patience)
}

func TestEngineIsStartedAgainWhenItIsKilled(t *testing.T) {
	lab := testenv.StartLab(t)
	lab.Query(t, "INSERT INTO lab.lanes (lane) VALUES ('survivor')")
	pid := postmasterPID(t, filepath.Join(lab.Dir, "engine", "data"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "the lab answers again", func() bool {
		out := lab.Psql(t.Context(), t, "-qAtc", "SELECT count(*) FROM lab.lanes WHERE lane = 'survivor'")
		return out.Code == 0 && strings.TrimSpace(out.Stdout) == "1" && postmasterPID(t, filepath.Join(lab.Dir, "engine", "data")) != pid
	})
}

func TestDataOfAnotherMajorAreRefusedAndKept(t *testing.T) {
	lab := testenv.StartLab(t)
	lab.Stop(t)
	version := filepath.Join(lab.Dir, "engine", "data", "PG_VERSION")
	genuine, err := os.ReadFile(version)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(version, []byte("12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, log := lab.Refused(t)
	if code == 0 || !strings.Contains(log, "were made by Postgres 12") || !strings.Contains(log, "install it or name its folder") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
	if err := os.WriteFile(version, genuine, 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Start(t) // nothing was wiped
}

func TestTakenPortIsToldAtOnce(t *testing.T) {
	lab := sharedLab(t)
	second := testenv.NewLab(t)
	second.Port = lab.Port
	code, log := second.Refused(t)
	if code == 0 || !strings.Contains(log, lab.Host+":"+lab.Port+" is taken by another program") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
}

func TestSecondPglabOnTheSameDataIsRefused(t *testing.T) {
	lab := sharedLab(t)
	out := testenv.Run(t.Context(), t, testenv.Binary(t), testenv.Call{
		Args: []string{"serve", "--data", lab.Dir, "--listen", "127.0.0.1:0"},
	})
	if want := fmt.Sprintf("another pglab (pid %d, listening on 127.0.0.1:0)", lab.PID()); out.Code != 1 || !strings.Contains(out.Stderr, want) {
		t.Errorf("exit code %d, stderr:\n%s", out.Code, out.Stderr)
	}
}

// processesOf lists processes that mention a lab's directory.
func processesOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		command, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		place, _ := os.Readlink("/proc/" + entry.Name() + "/cwd")
		if strings.Contains(string(command), dir) || strings.HasPrefix(place, dir) {
			found = append(found, entry.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func postmasterPID(t *testing.T, datadir string) int {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(datadir, "postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}
