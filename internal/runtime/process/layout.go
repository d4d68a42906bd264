package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// Below Dir:
//
//	servers/NAME-UID/   ours: server.json, server.conf, log
//	  data/             the account's
//	tasks/RUN-ATTEMPT-PHASE/   ours: task.json, stdout, stderr, shim.log
//	  work/             the account's: working directory, scripts
//	  state/            the account's: status.json
//	s/HASH/             the account's: the socket of a server
//
// What we write or append to lies where the account cannot replace it by a link.
func (r *Runtime) serversDir() string { return filepath.Join(r.Dir, "servers") }
func (r *Runtime) tasksDir() string   { return filepath.Join(r.Dir, "tasks") }

// Prefixes of directories that are not objects: being made, being removed.
const (
	newPrefix  = ".new-"
	gonePrefix = ".gone-"
)

func (r *Runtime) serverDir(ref lab.ServerRef) string {
	return filepath.Join(r.serversDir(), ref.Name+"-"+ref.UID)
}

func (r *Runtime) taskDir(ref lab.TaskRef) string {
	return filepath.Join(r.tasksDir(), taskName(ref))
}

func taskName(ref lab.TaskRef) string {
	return ref.Run + "-" + strconv.Itoa(ref.Attempt) + "-" + ref.Phase
}

// longestName leaves room in a file name of 255 bytes for what we add.
const longestName = 100

// checkName refuses what must not become part of a path. The schema lets no
// such name in; paths are built here, so it is checked here again.
func checkName(what, name string) error {
	switch {
	case name == "":
		return lab.InvalidSpec("%s is empty", what)
	case len(name) > longestName:
		return lab.InvalidSpec("%s %q has more than %d bytes", what, name[:longestName]+"...", longestName)
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") || strings.Contains(name, ".."):
		return lab.InvalidSpec("%s %q begins with '-' or '.', or has '..' in it", what, name)
	case strings.ContainsFunc(name, func(c rune) bool { return c == '/' || c < ' ' || c == 0x7f }):
		return lab.InvalidSpec("%s %q has a slash or a control character in it", what, name)
	}
	return nil
}

func checkServerRef(ref lab.ServerRef) error {
	return errors.Join(checkName("cluster name", ref.Name), checkName("cluster uid", ref.UID))
}

func checkTaskRef(ref lab.TaskRef) error {
	return errors.Join(checkName("run name", ref.Run), checkName("phase", ref.Phase))
}

// passable lets the account pass through a directory of ours and see nothing.
const passable = 0o711

// ensureDir makes a directory of ours that the account may pass through. The
// mode of one that exists already is its owner's business.
func ensureDir(dir string) error {
	if dirExists(dir) {
		return nil
	}
	err := os.MkdirAll(dir, passable)
	if err == nil {
		err = os.Chmod(dir, passable) // whatever the umask is
	}
	if err != nil {
		return fmt.Errorf("making directory: %w", err)
	}
	return nil
}

func (r *Runtime) give(path string) error {
	if r.Account == nil {
		return nil
	}
	if err := os.Lchown(path, r.Account.UID, r.Account.GID); err != nil {
		return fmt.Errorf("handing %s to %s: %w", path, r.Account, err)
	}
	return nil
}

// clearUnfinished removes what an earlier pglab had begun to make or to
// remove when it was killed.
func (r *Runtime) clearUnfinished() {
	const surelyDead = time.Minute
	for _, dir := range []string{r.serversDir(), r.tasksDir()} {
		entries, _ := os.ReadDir(dir) // it may not be there yet
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				continue
			}
			gone := strings.HasPrefix(entry.Name(), gonePrefix)
			if gone || strings.HasPrefix(entry.Name(), newPrefix) && time.Since(info.ModTime()) > surelyDead {
				if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
					r.Log.Warn("leftover not removed", "dir", entry.Name(), "err", err)
				}
			}
		}
	}
}

// removeDir removes an object's directory. Under its new name it is no object
// any more, however far the removal comes.
func removeDir(dir string) error {
	gone := filepath.Join(filepath.Dir(dir), gonePrefix+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing directory: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("removing directory: %w", err)
	}
	return nil
}

// socketDir finds a directory for a server's socket whose path the kernel
// accepts: below Dir when that is short enough, else where short paths are.
func (r *Runtime) socketDir(uid string) (string, error) {
	roots := []string{filepath.Join(r.Dir, "s")}
	if os.Geteuid() == 0 {
		roots = append(roots, "/run/pglab-"+shortHash(r.Lab))
	} else if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		roots = append(roots, filepath.Join(dir, "pglab-"+shortHash(r.Lab)))
	}
	roots = append(roots, filepath.Join(os.TempDir(), "pglab-"+shortHash(r.Lab)))
	var problem error
	for _, root := range roots {
		dir := filepath.Join(root, shortHash(uid))
		if _, problem = postgres.SocketPath(dir); problem != nil {
			continue
		}
		if problem = ensureOwnDir(root); problem == nil {
			return dir, nil
		}
	}
	return "", lab.Unsupported("no directory for the server's socket: %w", problem)
}

// makeSocketDir makes a directory that socketDir chose, for the account alone.
func (r *Runtime) makeSocketDir(dir string) error {
	err := ensureOwnDir(filepath.Dir(dir)) // removed with the last server
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making socket directory: %w", err)
	}
	return r.give(dir)
}

func removeSocketDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing socket directory: %w", err)
	}
	_ = os.Remove(filepath.Dir(dir)) // refused while there are others in it
	return nil
}

// ensureOwnDir makes a directory in a place where others may have put one of
// that name before us.
func ensureOwnDir(dir string) error {
	switch err := os.Mkdir(dir, passable); {
	case err == nil:
		return os.Chmod(dir, passable) // whatever the umask is
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	const othersMayWrite = 0o022
	if !info.IsDir() || !known || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&othersMayWrite != 0 {
		return fmt.Errorf("%s is not a directory of our own", dir)
	}
	return nil
}

// shortHash is 8 hexadecimal digits that stand for a text.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// reachable tells in words when the account cannot pass through dir or
// through a directory above it.
func reachable(dir string, account *postgres.Account) error {
	if account == nil {
		return nil
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("looking at directory: %w", err)
		}
		bit := fs.FileMode(0o001)
		if owner, known := info.Sys().(*syscall.Stat_t); known {
			switch {
			case int(owner.Uid) == account.UID:
				bit = 0o100
			case int(owner.Gid) == account.GID:
				bit = 0o010
			}
		}
		if info.Mode().Perm()&bit == 0 {
			return lab.Unsupported("%s cannot enter %s, so no server can run below it: chmod o+x %s, or use another data directory", account, at, at)
		}
		if at == "/" {
			return nil
		}
	}
}
