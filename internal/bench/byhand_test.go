package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
	"pglab/internal/pgbench"
	"pglab/internal/postgres"
)

// handMade is a pgbench that was run without the lab.
type handMade struct {
	lab.Summary
	started time.Time
	ended   time.Time
}

// prepareByHand does to the data what the lab does before each run.
func (s *subject) prepareByHand(b *testing.B) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), fmt.Sprintf("host=%s port=%d user=%s dbname=%s", s.socketDir, postgres.Port, lab.SuperUser, cluster))
	if err != nil {
		b.Fatalf("connecting to server: %v", err)
	}
	defer conn.Close(b.Context())
	for _, sql := range []string{
		"TRUNCATE pgbench_history", "VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts", "CHECKPOINT",
	} {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
	}
}

// runByHand runs the pgbench that the lab would run, as a shell would: in a
// group like that of the lab's task, with its output in files.
func (s *subject) runByHand(b *testing.B, run lab.Run) handMade {
	b.Helper()
	args, _ := pgbench.Timed(run)
	// The shell waits until it has been put into its groups, and becomes pgbench.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r _ && exec "$0" "$@" </dev/null`, s.pgbench}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "PGHOST=" + s.socketDir, "PGPORT=" + strconv.Itoa(postgres.Port),
		"PGUSER=" + lab.BenchUser, "PGDATABASE=" + cluster,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.account}
	dir := b.TempDir()
	stdout, stderr := create(b, filepath.Join(dir, "stdout")), create(b, filepath.Join(dir, "stderr"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	gate, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	leave := s.handGroups(b)
	defer leave()
	if err := cmd.Start(); err != nil {
		b.Fatalf("starting pgbench: %v", err)
	}
	for _, group := range s.groups {
		if err := os.WriteFile(filepath.Join(handGroup(group), "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			b.Fatalf("joining control group: %v", err)
		}
	}
	made := handMade{started: time.Now()}
	if _, err := gate.Write([]byte("\n")); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("pgbench by hand: %v: %s", err, read(b, stderr.Name()))
	}
	made.ended = time.Now()
	if made.Summary, err = pgbench.ParseSummary(read(b, stdout.Name())); err != nil {
		b.Fatal(err)
	}
	return made
}

// handGroup is a group beside one of the server's, as a task's would be.
func handGroup(server string) string { return filepath.Join(filepath.Dir(server), "by-hand") }

// handGroups makes the groups of a pgbench that is run by hand.
func (s *subject) handGroups(b *testing.B) (remove func()) {
	b.Helper()
	remove = func() {
		for _, group := range s.groups {
			_ = os.Remove(handGroup(group)) // all but empty only when the benchmark has failed anyway
		}
	}
	for _, group := range s.groups {
		if err := os.Mkdir(handGroup(group), 0o755); err != nil {
			remove()
			b.Fatalf("making control group: %v", err)
		}
	}
	return remove
}

// shimTime is the CPU time of the shim that the lab puts around every
// pgbench: of `pglab task` around a program that does nothing, less that of
// the program alone.
func shimTime(b *testing.B, binary string) time.Duration {
	b.Helper()
	status := filepath.Join(b.TempDir(), "status.json")
	used := func(argv ...string) time.Duration {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = []string{"GOMAXPROCS=1"}
		if output, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, output)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return used(binary, "task", "--status", status, "--", "/bin/true") - used("/bin/true")
}

func create(b *testing.B, path string) *os.File {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { file.Close() })
	return file
}

func read(b *testing.B, path string) string {
	b.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
