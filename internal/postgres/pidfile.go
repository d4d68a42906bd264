package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PidFile is the postmaster.pid of a data directory: what a postmaster says
// of itself while it runs, and leaves behind when it is killed.
type PidFile struct {
	PID       int // negative: a single-user backend
	Datadir   string
	StartedAt time.Time
	Port      int
	SocketDir string
	Listen    string
	SharedID  int    // of its System V shared memory segment; 0 until made
	Status    string // "starting", "ready", "stopping", "standby"; empty until known
}

// ReadPidFile reads a data directory's postmaster.pid. fs.ErrNotExist when
// there is none.
func ReadPidFile(datadir string) (PidFile, error) {
	// The directory belongs to the server's account, which is not trusted:
	// no link is followed, nothing blocks, nothing large is read.
	file, err := os.OpenFile(filepath.Join(datadir, "postmaster.pid"), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return PidFile{}, fmt.Errorf("reading postmaster.pid: %w", err)
	}
	defer file.Close()
	const enough = 16 << 10
	text, err := io.ReadAll(io.LimitReader(file, enough))
	if err != nil {
		return PidFile{}, fmt.Errorf("reading postmaster.pid: %w", err)
	}
	return parsePidFile(string(text))
}

// parsePidFile reads the lines that are there: a postmaster writes them one
// after another while it starts.
func parsePidFile(text string) (PidFile, error) {
	lines := strings.Split(text, "\n")
	line := func(n int) string {
		if n > len(lines) {
			return ""
		}
		return strings.TrimSpace(lines[n-1])
	}
	number := func(text string) int {
		value, _ := strconv.Atoi(text) // a line that is still missing is 0
		return value
	}
	file := PidFile{Datadir: line(2), Port: number(line(4)), SocketDir: line(5), Listen: line(6), Status: line(8)}
	if file.PID = number(line(1)); file.PID == 0 {
		return PidFile{}, errors.New("reading postmaster.pid: no pid in its first line")
	}
	if seconds := number(line(3)); seconds != 0 {
		file.StartedAt = time.Unix(int64(seconds), 0)
	}
	if _, id, found := strings.Cut(line(7), " "); found {
		file.SharedID = number(strings.TrimSpace(id))
	}
	return file, nil
}

// Running finds the postmaster that runs on a data directory by its
// postmaster.pid, also one that another process started. ErrNotRunning when
// there is none.
func Running(datadir string) (Identity, error) {
	file, err := ReadPidFile(datadir)
	if err != nil || file.PID <= 0 {
		return Identity{}, fmt.Errorf("postmaster of %s: %w", datadir, ErrNotRunning)
	}
	identity, err := Identify(file.PID)
	if err != nil {
		return Identity{}, err
	}
	// The file outlives a killed postmaster and its pid may be anybody's by
	// now. A postmaster's working directory is its data directory.
	if !worksIn(file.PID, datadir) || !identity.Alive() {
		return Identity{}, fmt.Errorf("postmaster of %s: %w", datadir, ErrNotRunning)
	}
	return identity, nil
}

func worksIn(pid int, dir string) bool {
	there, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return false
	}
	want, err := os.Stat(dir)
	return err == nil && os.SameFile(there, want)
}

// Ready reports whether the postmaster says that it accepts connections.
func (id Identity) Ready(datadir string) bool {
	file, err := ReadPidFile(datadir)
	return err == nil && file.PID == id.PID && file.Status == "ready"
}

// readyPoll is how often a starting postmaster is looked at.
const readyPoll = 10 * time.Millisecond

// WaitReady waits until the postmaster accepts connections. ErrNotRunning
// when it ended instead; its log says why.
func (id Identity) WaitReady(ctx context.Context, datadir string) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		if id.Ready(datadir) {
			return nil
		}
		if !id.Alive() {
			return fmt.Errorf("postmaster %d: %w", id.PID, ErrNotRunning)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
