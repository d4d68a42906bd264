package testenv

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// PID is the postmaster's process id; 0 while the server is stopped.
func (s *Server) PID() int {
	if s.running == nil || s.running.ended() {
		return 0
	}
	return s.running.pid()
}

// Stop shuts the server down and keeps its data. Stopped already: no-op.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.end((*postmaster).stop); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the postmaster and all its backends by SIGKILL. The data are
// kept, to be recovered by the next start.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.end((*postmaster).kill); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server again, after a Stop when it runs; the port and
// thus the connection strings stay as they are. Options change the server.
func (s *Server) Restart(t testing.TB, options ...Option) {
	t.Helper()
	s.Stop(t)
	for _, option := range options {
		option(s.plan)
	}
	if err := s.writeFile("pg_hba.conf", s.plan.rules()); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatalf("restarting Postgres %d: %v", s.Major, err)
	}
}

// Close stops the server and removes its directory. A second time: no-op.
func (s *Server) Close() error {
	if err := s.end((*postmaster).stop); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("removing directory of Postgres %d: %w", s.Major, err)
	}
	return nil
}

func (s *Server) end(how func(*postmaster) error) error {
	if s.running == nil {
		return nil
	}
	if err := how(s.running); err != nil {
		return fmt.Errorf("ending Postgres %d: %w", s.Major, err)
	}
	s.running = nil
	return nil
}

// Log is everything that the server has logged since its first start.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile)
	if err != nil {
		return "" // not started yet, or closed
	}
	return string(text)
}

// logTail is the end of the log, for the output of a failed test.
func (s *Server) logTail() string {
	const lines = 40
	all := bytes.Split([]byte(strings.TrimRight(s.Log(), "\n")), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
