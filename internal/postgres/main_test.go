package postgres

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a program that becomes itself again, each
// time from a thread that is not its first.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "exec" {
		times, _ := strconv.Atoi(os.Args[2])
		if times == 0 {
			os.Exit(0)
		}
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- syscall.Exec(os.Args[0], []string{os.Args[0], "exec", strconv.Itoa(times - 1)}, nil)
		}()
		fmt.Fprintln(os.Stderr, <-done)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// testAccount is whom servers run as: a system user when we are root, and
// nobody else otherwise.
func testAccount(t *testing.T) *Account {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := EnsureAccount(t.Context(), "pglab-servers")
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// testDir is a temporary directory that every OS user may enter; that of
// t.TempDir only we may.
func testDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pglab-postgres-")
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

// installed finds a server of that major; without one the test fails.
func installed(t *testing.T, major string) Installation {
	t.Helper()
	all, err := Find(t.Context(), nil, testAccount(t))
	if err != nil {
		t.Fatal(err)
	}
	found, err := all.Server(major)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// soon is a deadline that only a broken program reaches.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
