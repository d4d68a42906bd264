package process

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/task"
)

func testTask(config Config, server lab.ServerRef, run string, args ...string) lab.TaskSpec {
	return lab.TaskSpec{
		Lab: config.Lab, Server: server, Args: args, Version: "15",
		Ref:   lab.TaskRef{Run: run, Attempt: 1, Phase: lab.TaskBench},
		Files: map[string]string{"one.sql": "SELECT 1;\n"},
	}
}

// query asks a server over its Dial for one value.
func query(t *testing.T, runtime *Runtime, ref lab.ServerRef, query string) string {
	t.Helper()
	config, err := pgx.ParseConfig("user=" + lab.BenchUser + " dbname=" + ref.Name + " host=/runtime sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return runtime.Dial(ctx, ref) }
	conn, err := pgx.ConnectConfig(soon(t), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(soon(t))
	var answer string
	if err := conn.QueryRow(soon(t), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func (l *life) lostTask(t *testing.T) {
	runtime := l.runtime
	started, err := runtime.StartTask(soon(t), testTask(l.config, l.spec.Ref(), "lost", "-n", "-T", "600", "-f", "one.sql"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := task.ReadStatus(runtime.statusFile(started.Ref))
	if err != nil {
		t.Fatal(err)
	}
	pgbench, err := postgres.Identify(status.PID)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, started.Usage.PID)
	lost, err := runtime.WaitTask(soon(t), started.Ref)
	if err != nil || lost.Running || !strings.Contains(lost.Message, "pgbench was lost") || !lost.ExitedAt.IsZero() {
		t.Errorf("lost task: %+v, %v", lost, err)
	}
	if !pgbench.Alive() {
		t.Fatal("pgbench died with its shim: this test tests nothing")
	}
	if err := runtime.StopTask(soon(t), started.Ref); err != nil {
		t.Fatal(err)
	}
	if pgbench.Alive() {
		t.Error("pgbench runs on")
	}
}

func (l *life) frozenTask(t *testing.T) {
	runtime := l.runtime
	started, err := runtime.StartTask(soon(t), testTask(l.config, l.spec.Ref(), "frozen", "-n", "-T", "600", "-f", "one.sql"))
	if err != nil {
		t.Fatal(err)
	}
	// A stopped shim answers nothing: the group is what remains to act on.
	shim, err := postgres.Identify(started.Usage.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := shim.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := runtime.StopTask(soon(t), started.Ref); err != nil {
		t.Fatal(err)
	}
	if shim.Alive() {
		t.Error("the shim is still there")
	}
}

func TestParseTaskName(t *testing.T) {
	for name, test := range map[string]struct {
		name string
		want lab.TaskRef
		ok   bool
	}{
		"plain":                {"a-1-bench", lab.TaskRef{Run: "a", Attempt: 1, Phase: "bench"}, true},
		"run with dashes":      {"a-2-init-3-warmup", lab.TaskRef{Run: "a-2-init", Attempt: 3, Phase: "warmup"}, true},
		"no attempt":           {"a-bench", lab.TaskRef{}, false},
		"attempt in letters":   {"a-b-bench", lab.TaskRef{Run: "a", Phase: "bench"}, false},
		"nothing like a task":  {"lost+found", lab.TaskRef{}, false},
		"what somebody put in": {"", lab.TaskRef{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseTaskName(test.name)
			if diff := cmp.Diff(test.want, got); ok != test.ok || ok && diff != "" {
				t.Errorf("%v\n%s", ok, diff)
			}
			if ok && taskName(got) != test.name {
				t.Errorf("written again: %s", taskName(got))
			}
		})
	}
}
