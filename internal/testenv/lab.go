package testenv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Lab is a running `pglab serve`, the real program on a data directory of its
// own. Its methods are not for concurrent use, except Psql, Query and Connect.
type Lab struct {
	Dir  string // --data
	Host string
	Port string
	Line string // what it printed to be pasted

	binary  string
	args    []string
	cmd     *exec.Cmd
	ended   chan struct{}
	logFile string
}

// StartLab starts a lab with the given further flags of `pglab serve`; it is
// stopped with the test. When the test has failed, it shows the end of the lab's log.
func StartLab(t testing.TB, args ...string) *Lab {
	t.Helper()
	l := NewLab(t, args...)
	l.Start(t)
	return l
}

// NewLab prepares a lab without starting it.
func NewLab(t testing.TB, args ...string) *Lab {
	t.Helper()
	home, err := processHome()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := home.makeDir("lab")
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Dir: dir, binary: Binary(t), args: args, logFile: filepath.Join(dir, "pglab.log")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of the lab in %s:\n%s", dir, lastBytes(l.Log(), 8<<10))
		}
		l.Stop(t)
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing lab: %v", err)
		}
	})
	return l
}

// labPatience is how long a lab may take to initdb its engine and start.
const labPatience = 2 * time.Minute

var pasted = regexp.MustCompile(`^PGPASSFILE=\S+ psql -h (\S+) -p (\d+) -U lab lab$`)

// Start starts the lab, again after Stop or Kill, and returns when it serves.
func (l *Lab) Start(t testing.TB) {
	t.Helper()
	stdout := l.launch(t)
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(text)
		_, _ = io.Copy(io.Discard, stdout)
	}()
	select {
	case l.Line = <-line:
	case <-time.After(labPatience):
	}
	match := pasted.FindStringSubmatch(l.Line)
	if match == nil {
		t.Fatalf("the lab printed %q instead of a psql command; its log ends:\n%s", l.Line, lastBytes(l.Log(), 4<<10))
	}
	l.Host, l.Port = match[1], match[2]
}

// Refused starts a lab that is expected to end by itself, and returns its
// exit code and log.
func (l *Lab) Refused(t testing.TB) (code int, log string) {
	t.Helper()
	_, _ = io.Copy(io.Discard, l.launch(t))
	<-l.ended
	return l.cmd.ProcessState.ExitCode(), l.Log()
}

// launch starts the program. The port is chosen by the kernel at the first
// start and kept from then on.
func (l *Lab) launch(t testing.TB) (stdout io.Reader) {
	t.Helper()
	log, err := os.OpenFile(l.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	listen := loopback + ":0"
	if l.Port != "" {
		listen = loopback + ":" + l.Port
	}
	l.cmd = exec.Command(l.binary, append([]string{"serve", "--data", l.Dir, "--listen", listen}, l.args...)...)
	l.cmd.Dir, l.cmd.Env = "/", cleanEnv()
	l.cmd.Stderr = log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stdout = write
	if err := l.cmd.Start(); err != nil {
		t.Fatalf("starting lab: %v", err)
	}
	write.Close()
	ended := make(chan struct{})
	l.ended = ended
	go func() {
		_ = l.cmd.Wait()
		close(ended)
	}()
	return read
}

// PID is of the pglab process.
func (l *Lab) PID() int { return l.cmd.Process.Pid }

// Stop stops the lab in order and waits for it. Stopped already: no-op.
func (l *Lab) Stop(t testing.TB) {
	t.Helper()
	if l.cmd == nil || l.cmd.Process == nil {
		return
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.ended:
	case <-time.After(labPatience):
		_ = l.cmd.Process.Kill()
		<-l.ended
		t.Errorf("the lab did not stop; its log ends:\n%s", lastBytes(l.Log(), 4<<10))
	}
	if log := l.Log(); strings.Contains(log, "DATA RACE") {
		t.Errorf("a data race in pglab:\n%s", log[strings.Index(log, "DATA RACE"):])
	}
}

// Kill ends pglab as kill -9 does. Engine and servers live on.
func (l *Lab) Kill(t testing.TB) {
	t.Helper()
	_ = l.cmd.Process.Kill()
	<-l.ended
}

// ExitCode of the process that has ended last.
func (l *Lab) ExitCode() int { return l.cmd.ProcessState.ExitCode() }

// Log is what the lab has logged so far.
func (l *Lab) Log() string {
	text, err := os.ReadFile(l.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Env tells libpq's programs where the lab is and how to log in.
func (l *Lab) Env() []string {
	return []string{
		"PGHOST=" + l.Host, "PGPORT=" + l.Port, "PGUSER=lab", "PGDATABASE=lab",
		"PGPASSFILE=" + filepath.Join(l.Dir, "pgpass"),
	}
}

// Password is the login's, as the lab's password file holds it.
func (l *Lab) Password(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Dir, "pgpass"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Split(strings.TrimSpace(string(text)), ":")
	return fields[len(fields)-1]
}

// Psql runs psql on the lab.
func (l *Lab) Psql(ctx context.Context, t testing.TB, args ...string) Output {
	t.Helper()
	return Psql(ctx, t, Call{Args: args, Env: l.Env()})
}

// Query returns what psql prints for one statement, unaligned and without
// headers. The statement must succeed.
func (l *Lab) Query(t testing.TB, sql string) string {
	t.Helper()
	out := l.Psql(t.Context(), t, "-v", "ON_ERROR_STOP=1", "-qAtc", sql)
	if out.Code != 0 {
		t.Fatalf("%s: psql exited with %d: %s", sql, out.Code, out.Stderr)
	}
	return strings.TrimSpace(out.Stdout)
}

// Await repeats a query until it answers want.
func (l *Lab) Await(t testing.TB, sql, want string, patience time.Duration) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = l.Query(t, sql); got == want {
			return
		}
	}
	t.Fatalf("after %v, %s still answers %q, want %q", patience, sql, got, want)
}

// Connect opens a session of the lab's first login until the test ends.
func (l *Lab) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%s user=lab dbname=%s password=%s sslmode=prefer",
		l.Host, l.Port, database, l.Password(t)))
	if err != nil {
		t.Fatalf("connecting to lab: %v", err)
	}
	t.Cleanup(func() { closeConn(conn) })
	return conn
}

func lastBytes(text string, n int) string { return text[max(0, len(text)-n):] }
