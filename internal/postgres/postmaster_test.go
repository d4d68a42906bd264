package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// server is a data directory with a postmaster on it.
type server struct {
	with    Installation
	datadir string
	sockets string
	log     string
}

func newServer(t *testing.T, major string) server {
	t.Helper()
	dir := testDir(t)
	s := server{with: installed(t, major), datadir: filepath.Join(dir, "data"), sockets: filepath.Join(dir, "s"), log: filepath.Join(dir, "log")}
	if err := os.Mkdir(s.sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	handTo(t, s.sockets)
	if err := Initdb(soon(t), s.with, s.datadir, nil, testAccount(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s server) start(t *testing.T, settings map[string]string) *Child {
	t.Helper()
	child, err := Start(Command{
		Argv: PostmasterArgv(s.with, s.datadir, s.sockets, settings),
		Env:  PostmasterEnv(), Log: s.log, As: testAccount(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		control := child.SharedControl()
		_ = child.Signal(syscall.SIGKILL)
		<-child.Done()
		if err := ReleaseShared(s.datadir, control); err != nil {
			t.Error(err)
		}
	})
	return child
}

func TestPostmasterOfEveryMajor(t *testing.T) {
	for _, major := range []string{"14", "15", "16", "17", "18"} {
		t.Run(major, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, major)
			if made, err := DataMajor(s.datadir); err != nil || made != major {
				t.Errorf("DataMajor = %q, %v", made, err)
			}
			child := s.start(t, nil)
			if err := child.WaitReady(soon(t), s.datadir); err != nil {
				t.Fatal(err)
			}
			path, err := SocketPath(s.sockets)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("socket: %v, %v", info, err)
			}
			if adopted, err := Running(s.datadir); err != nil || adopted != child.Identity {
				t.Errorf("Running = %+v, %v, want %+v", adopted, err, child.Identity)
			}
			if file, err := ReadPidFile(s.datadir); err != nil || file.Listen != "" || file.Port != Port || file.StartedAt.IsZero() {
				t.Errorf("pid file %+v, %v", file, err)
			}
			last, err := StopPostmaster(soon(t), child.Identity)
			if err != nil || last != syscall.SIGINT {
				t.Errorf("stopped by %v, %v", last, err)
			}
			if _, err := Running(s.datadir); !errors.Is(err, ErrNotRunning) {
				t.Errorf("Running after stop: %v", err)
			}
		})
	}
}

func TestKilledPostmasterIsNotTakenForRunning(t *testing.T) {
	s := newServer(t, "15")
	child := s.start(t, nil)
	if err := child.WaitReady(soon(t), s.datadir); err != nil {
		t.Fatal(err)
	}
	control := child.SharedControl()
	if err := child.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	if _, err := Running(s.datadir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("err = %v", err)
	}
	left, err := ReadPidFile(s.datadir)
	if err != nil {
		t.Fatal(err)
	}
	waitUntilDetached(t, left.SharedID)
	if err := ReleaseShared(s.datadir, control); err != nil {
		t.Error(err)
	}
	// Its postmaster.pid is still there; let it point at somebody else.
	file := filepath.Join(s.datadir, "postmaster.pid")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(file, []byte("1\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := Running(s.datadir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("took process %+v for the postmaster, %v", id, err)
	}
	if last, err := StopPostmaster(soon(t), child.Identity); err != nil || last != 0 {
		t.Errorf("stopping what ended: %v, %v", last, err)
	}
}

func TestPostmasterThatRefusesASettingSaysWhy(t *testing.T) {
	s := newServer(t, "15")
	child := s.start(t, map[string]string{"work_mem": `it's "much" $(id)`})
	if err := child.WaitReady(soon(t), s.datadir); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("err = %v", err)
	}
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	if got := Complaint(string(log)); !strings.Contains(got, `invalid value for parameter "work_mem": "it's "much" $(id)"`) {
		t.Errorf("Complaint = %q", got)
	}
}

func TestParsePidFileThatIsStillBeingWritten(t *testing.T) {
	file, err := parsePidFile("123\n/d\n1700000000\n5432\n/s\n")
	if err != nil || file.PID != 123 || file.SocketDir != "/s" || file.Status != "" {
		t.Errorf("got %+v, %v", file, err)
	}
	if _, err := parsePidFile(""); err == nil {
		t.Error("an empty file has a pid")
	}
}

func TestSocketPathThatIsTooLong(t *testing.T) {
	if _, err := SocketPath("/" + strings.Repeat("x", 92)); err != nil {
		t.Errorf("107 bytes: %v", err)
	}
	if _, err := SocketPath("/" + strings.Repeat("x", 93)); err == nil || !strings.Contains(err.Error(), "108 bytes") {
		t.Errorf("108 bytes: %v", err)
	}
}
