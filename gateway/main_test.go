package main

import (
	"os"
	"sync"
	"testing"
	"time"

	"pglab/internal/testenv"
)

// Tests of the whole program: the real binary, the real psql, real servers.

// patience bounds every wait for something that surely comes; how long it
// takes depends on what else the machine does.
const patience = 3 * time.Minute

// versions of servers that the labs of these tests run.
const (
	oldMajor = "16"
	newMajor = "18"
)

// shared is one lab for the tests that neither stop nor kill it. Each uses
// clusters, runs and lanes with names of its own.
var shared struct {
	sync.Mutex
	lab *testenv.Lab
}

// holder is the testing.TB that the shared lab lives as long as.
type holder struct {
	testing.TB
	cleanups []func()
}

func (h *holder) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }
func (h *holder) Failed() bool     { return false }

var sharedHolder holder

func sharedLab(t *testing.T) *testenv.Lab {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.lab == nil {
		sharedHolder.TB = t
		shared.lab = testenv.StartLab(&sharedHolder)
	}
	return shared.lab
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(sharedHolder.cleanups) - 1; i >= 0; i-- {
		sharedHolder.cleanups[i]()
	}
	os.Exit(code)
}
