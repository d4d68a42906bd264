package pgbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pglab/internal/lab"
	"pglab/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tolerance is for the machine, which may be busy with other things: the
// rule itself is right to a few milliseconds, which the test logs.
const tolerance = 60 * time.Millisecond

// The log of all transactions says when the clients really worked.
func TestWindowAgreesWithTheLogOfAllTransactions(t *testing.T) {
	server := testenv.Postgres(t, 15)
	base := lab.Run{Scale: 1, Clients: 4, Threads: 2, Seconds: 2, Protocol: "prepared", Builtin: "select-only"}
	initialize(t, server, base)
	slow := delayConnections(t, filepath.Join(server.SocketDir, fmt.Sprintf(".s.PGSQL.%d", server.Port)), 350*time.Millisecond)

	for _, test := range []struct {
		name   string
		client int
		host   string
		change func(*lab.Run)
	}{
		{"three seconds", 15, server.SocketDir, func(r *lab.Run) { r.Seconds = 3 }},
		{"client 17", 17, server.SocketDir, func(*lab.Run) {}},
		{"client 18", 18, server.SocketDir, func(*lab.Run) {}},
		{"updates", 15, server.SocketDir, func(r *lab.Run) { r.Builtin, r.Protocol = "tpcb-like", "simple" }},
		{"rate", 15, server.SocketDir, func(r *lab.Run) { r.Rate = 300 }},
		{"script", 15, server.SocketDir, func(r *lab.Run) { r.Builtin, r.Script = "", "SELECT :scale;\n" }},
		{"connecting takes 1.4 s", 15, slow, func(r *lab.Run) { r.Threads, r.Seconds = 1, 4 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := base
			test.change(&run)
			if err := Validate(run); err != nil {
				t.Fatal(err)
			}
			// A machine that stands still for a moment moves an edge, or lets
			// no transaction through. A wrong rule is wrong every time.
			const attempts = 15
			for range attempts {
				start, end, err := windowError(t, test.client, test.host, server.Port, run)
				t.Logf("start %v, end %v off, %v", start, end, err)
				if err == nil && start.Abs() <= tolerance && end.Abs() <= tolerance {
					return
				}
			}
			t.Fatalf("the window is more than %v off, %d times in a row", tolerance, attempts)
		})
	}
}

// windowError is how far the window of a real run is off the first and the
// last transaction of its log; an error when the run measured nothing.
func windowError(t *testing.T, client int, host string, port int, run lab.Run) (start, end time.Duration, err error) {
	t.Helper()
	dir := t.TempDir()
	args, files := Timed(run)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stdout bytes.Buffer
	var stderr Stderr
	task := pgbench(t, client, host, port, dir, append(args, "-l"), &stdout, &stderr)
	summary, doubt, err := Judge(task, stdout.String(), &stderr)
	if err != nil {
		return 0, 0, err
	}
	if doubt != "" {
		t.Logf("doubt: %s", doubt)
	}
	first, last, n := transactions(t, dir)
	if n != summary.Transactions {
		t.Fatalf("%d transactions in the log, %d in the summary", n, summary.Transactions)
	}
	return summary.WindowStart.Sub(first), summary.WindowEnd.Sub(last), nil
}

// pgbench runs a client to its end.
func pgbench(t *testing.T, client int, host string, port int, dir string, args []string, stdout, stderr io.Writer) lab.Task {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Pgbench(t, client), append(args, "postgres")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PGHOST="+host, "PGPORT="+strconv.Itoa(port), "PGUSER="+testenv.SuperUser, "PGSSLMODE=disable")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	started := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return lab.Task{StartedAt: started, ExitedAt: time.Now(), ExitCode: cmd.ProcessState.ExitCode()}
}

func initialize(t *testing.T, server *testenv.Server, run lab.Run) {
	t.Helper()
	var stderr bytes.Buffer
	task := pgbench(t, 15, server.SocketDir, server.Port, t.TempDir(), Init(run), io.Discard, &stderr)
	if reason := Failure(task, stderr.Bytes()); reason != "" {
		t.Fatal(reason)
	}
}

// transactions reads the log of every thread: client, number, latency in
// microseconds, script, and the end in seconds and microseconds.
func transactions(t *testing.T, dir string) (first, last time.Time, n int64) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "pgbench_log.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var client, number, latency, script, seconds, micros, lag int64
			fields, _ := fmt.Sscan(line, &client, &number, &latency, &script, &seconds, &micros, &lag)
			if fields < 6 {
				t.Fatalf("log line %q", line)
			}
			end := time.Unix(seconds, micros*1000)
			// With a rate, latency counts from when the transaction was due.
			begin := end.Add(-time.Duration(latency-lag) * time.Microsecond)
			if n == 0 || begin.Before(first) {
				first = begin
			}
			if end.After(last) {
				last = end
			}
			n++
		}
	}
	return first, last, n
}

// delayConnections passes connections on to a socket, each after a while. It
// returns the directory of its own socket, which has the same name.
func delayConnections(t *testing.T, socket string, delay time.Duration) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pglab-slow-")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, filepath.Base(socket)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var relays sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		listener.Close()
		relays.Wait()
		os.RemoveAll(dir)
	})
	relays.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(ctx, client, socket, delay) })
		}
	})
	return dir
}

func relay(ctx context.Context, client net.Conn, socket string, delay time.Duration) {
	defer client.Close()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return
	}
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	_, _ = io.Copy(server, client)
	server.Close()
	back.Wait()
}
