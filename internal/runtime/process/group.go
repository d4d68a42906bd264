package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is the control group of one server or task: a directory for each
// controller on v1, the same one for all on v2. The zero value: none.
type group struct {
	Version int               `json:"version"`
	Dirs    map[string]string `json:"dirs"` // as in ground
}

// makeGroup makes an empty group with these limits. One of that name that is
// still there is emptied first: counters start at zero.
func (g *ground) makeGroup(ctx context.Context, name string, limits limits) (group, error) {
	if err := g.check(limits); err != nil {
		return group{}, err
	}
	if g.version == 0 {
		return group{}, nil
	}
	made := group{Version: g.version, Dirs: make(map[string]string)}
	for controller, dir := range g.dirs {
		if g.version == 1 && controller == "cpuset" && limits.cpuset == "" {
			continue
		}
		made.Dirs[controller] = filepath.Join(dir, name)
	}
	if err := made.remove(ctx); err != nil {
		return group{}, err
	}
	if err := made.create(limits); err != nil {
		_ = made.remove(ctx)
		return group{}, err
	}
	return made, nil
}

func (g group) create(limits limits) error {
	if dir := g.Dirs["cpuset"]; dir != "" && g.Version == 1 {
		parent := filepath.Dir(dir)
		if err := makeGroupDir(parent); err != nil {
			return err
		}
		if err := inheritCpuset(parent); err != nil {
			return err
		}
	}
	for _, dir := range g.distinct() {
		if err := makeGroupDir(dir); err != nil {
			return err
		}
	}
	return g.limit(limits)
}

func (g group) exists() bool { return g.Version != 0 }

// distinct are the directories that a process is to join.
func (g group) distinct() []string { return distinct(g.Dirs) }

// procs lists the processes in the group.
func (g group) procs() ([]int, error) {
	for _, dir := range g.distinct() {
		pids, err := readProcs(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(pids) > 0 {
			return pids, err
		}
	}
	return nil, nil
}

func (g group) holds(pid int) bool {
	pids, err := g.procs()
	if err != nil {
		return false
	}
	for _, member := range pids {
		if member == pid {
			return true
		}
	}
	return false
}

// kill ends every process of the group at once and returns when none is left.
func (g group) kill(ctx context.Context) error {
	deadline := time.Now().Add(killPatience)
	for {
		pids, err := g.procs()
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("killing cgroup: processes %v do not end", pids)
		}
		if err := g.killAll(); err != nil {
			return err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("killing cgroup: %w", ctx.Err())
		}
	}
}

// killPatience is for processes in uninterruptible waits.
const killPatience = 20 * time.Second

// killAll kills in one sweep. Frozen, a group cannot fork away from it; what
// is killed then dies on the thaw. Without a freezer the sweep is repeated.
func (g group) killAll() error {
	if g.Version == 2 {
		err := writeFile(filepath.Join(g.Dirs[""], "cgroup.kill"), "1")
		if err == nil || errors.Is(err, fs.ErrNotExist) && !dirExists(g.Dirs[""]) {
			return nil
		}
		return g.signalAll() // kernels before 5.14 have no cgroup.kill
	}
	freezer := g.Dirs["freezer"]
	if freezer == "" || writeFile(filepath.Join(freezer, "freezer.state"), "FROZEN") != nil {
		return g.signalAll()
	}
	// A process in an uninterruptible wait holds the freezing up; the sweep is repeated anyway.
	for deadline := time.Now().Add(100 * time.Millisecond); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if state, err := os.ReadFile(filepath.Join(freezer, "freezer.state")); err != nil || strings.TrimSpace(string(state)) == "FROZEN" {
			break
		}
	}
	err := g.signalAll()
	if thawErr := writeFile(filepath.Join(freezer, "freezer.state"), "THAWED"); err == nil {
		err = thawErr
	}
	return err
}

func (g group) signalAll() error {
	pids, err := g.procs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing process %d: %w", pid, err)
		}
	}
	return nil
}

// remove ends what is in the group and removes it. None: success.
func (g group) remove(ctx context.Context) error {
	if err := g.kill(ctx); err != nil {
		return err
	}
	for _, dir := range g.distinct() {
		if err := removeGroupDir(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// removeGroupDir waits a little: a group whose last process is being reaped is busy.
func removeGroupDir(ctx context.Context, dir string) error {
	deadline := time.Now().Add(killPatience)
	for {
		err := os.Remove(dir)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline):
			return fmt.Errorf("removing cgroup: %w", err)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("removing cgroup: %w", ctx.Err())
		}
	}
}

// oomKilled reports whether the kernel killed in the group for want of memory.
func (g group) oomKilled() bool {
	name := "memory.events"
	if g.Version == 1 {
		name = "memory.oom_control"
	}
	dir := g.Dirs["memory"]
	if dir == "" {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(dir, name)) // gone with the group: not known
	for line := range strings.Lines(string(text)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

func readProcs(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("listing cgroup: %w", err)
	}
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("listing cgroup: %w", err)
		}
		if pid > 0 { // 0: of another pid namespace
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func dirExists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// writeFile writes to a file that exists, as those of the kernel do.
func writeFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}
