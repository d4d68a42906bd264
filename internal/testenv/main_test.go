package testenv

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// abandonEnv makes a copy of this test process start a server and wait to be
// killed, see TestServersEndWithTheProcess.
const abandonEnv = "TESTENV_ABANDON"

func TestMain(m *testing.M) {
	if os.Getenv(abandonEnv) != "" {
		abandonServer()
		return
	}
	goleak.VerifyTestMain(m)
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !condition() {
		if !pause(ctx) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
