package sql_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"pglab/internal/testenv"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := servers.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// servers are shared by all tests of this package, one of each major: each is
// an engine for some and a user's own Postgres for others. Tests of this
// package do not run in parallel.
var servers = pool{started: map[int]*testenv.Server{}}

type pool struct {
	mu      sync.Mutex
	started map[int]*testenv.Server
}

func (p *pool) get(t testing.TB, major int) *testenv.Server {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if server, running := p.started[major]; running {
		return server
	}
	server, err := testenv.Start(major, testenv.TCP(), testenv.Setting("max_connections", "300"))
	if err != nil {
		t.Fatal(err)
	}
	p.started[major] = server
	return server
}

func (p *pool) close() error {
	var errs []error
	for _, server := range p.started {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}
