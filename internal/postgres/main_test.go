package postgres

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
