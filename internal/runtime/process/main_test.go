package process

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pglab/internal/postgres"
	"pglab/internal/task"
)

// TestMain lets the test binary be the pglab binary: started with a
// subcommand, it is the shim.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "task":
			os.Exit(task.Main(os.Args[2:]))
		case "enter":
			os.Exit(task.Enter(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// testAccount is whom servers run as: a system user when we are root, and
// nobody else otherwise.
func testAccount(t *testing.T) *postgres.Account {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := postgres.EnsureAccount(t.Context(), "pglab-servers")
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// testDir is a temporary directory that every OS user may enter.
func testDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pglab-process-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// testConfig is a runtime's configuration over a directory.
func testConfig(t *testing.T, dir string) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Lab: "test-" + shortHash(dir), Dir: dir, Exe: exe, Account: testAccount(t),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// open opens a runtime. What it still has at the end of the test is stopped.
func open(t *testing.T, config Config) *Runtime {
	t.Helper()
	runtime, err := New(soon(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := runtime.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return runtime
}

// soon is a deadline that only a broken program reaches.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
