package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// SuperUser is the bootstrap superuser of every data directory made here.
const SuperUser = "postgres"

// InitdbError is an initdb that ran and refused or broke.
type InitdbError struct {
	Output string // what initdb printed on stderr
	Err    error
}

func (e *InitdbError) Error() string {
	return fmt.Sprintf("running initdb: %v: %s", e.Err, strings.TrimSpace(e.Output))
}

func (e *InitdbError) Unwrap() error { return e.Err }

// Initdb makes a data directory, owned by the account, with the same
// explicit choices for every major: checksums on, UTF8, locale C.UTF-8 of
// libc (C where libc has none), time zone UTC, trust for whoever can open
// the socket. The given options override them (see CheckInitdb).
//
// The directory appears complete or not at all. It must not exist yet; its
// parent must, and must be reachable for the account.
func Initdb(ctx context.Context, with Installation, datadir string, options map[string]string, as *Account) error {
	if _, err := os.Lstat(datadir); err == nil {
		return fmt.Errorf("making data directory: %s exists already", datadir)
	}
	unfinished := datadir + ".unfinished"
	args, err := initdbArgs(with.Version, unfinished, options)
	if err != nil {
		return err
	}
	if err := runInitdb(ctx, with, unfinished, args, as); err != nil {
		_ = os.RemoveAll(unfinished) // initdb's own error says more
		return err
	}
	if err := os.Rename(unfinished, datadir); err != nil {
		return fmt.Errorf("naming data directory: %w", err)
	}
	return syncDir(filepath.Dir(datadir))
}

// runInitdb runs initdb, and once more with locale C when the C.UTF-8 that
// nobody asked for is unknown to this host's libc.
func runInitdb(ctx context.Context, with Installation, datadir string, args []string, as *Account) error {
	err := tryInitdb(ctx, with, datadir, args, as)
	refused, ran := errors.AsType[*InitdbError](err)
	if ran && strings.Contains(refused.Output, `invalid locale name "`+defaultLocale+`"`) {
		for i, arg := range args {
			if arg == "--locale="+defaultLocale {
				args[i] = "--locale=C"
			}
		}
		return tryInitdb(ctx, with, datadir, args, as)
	}
	return err
}

func tryInitdb(ctx context.Context, with Installation, datadir string, args []string, as *Account) error {
	if err := os.RemoveAll(datadir); err != nil {
		return fmt.Errorf("clearing unfinished data directory: %w", err)
	}
	if err := os.Mkdir(datadir, 0o700); err != nil {
		return fmt.Errorf("making data directory: %w", err)
	}
	if as != nil {
		if err := os.Lchown(datadir, as.UID, as.GID); err != nil {
			return fmt.Errorf("handing data directory to %s: %w", as, err)
		}
	}
	cmd := exec.CommandContext(ctx, with.Program("initdb"), args...)
	cmd.Dir = "/"
	cmd.Env = PostmasterEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as.credential(), Pdeathsig: syscall.SIGKILL}
	// What it makes is of use to nobody but us, so it dies with us. The kernel
	// means the thread that started it by that: it must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// initdb runs postgres as its child: canceled, both must go.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("running initdb: %w", context.Cause(ctx))
		}
		return &InitdbError{Output: stderr.String(), Err: err}
	}
	return nil
}

func syncDir(dir string) error {
	handle, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing directory: %w", err)
	}
	defer handle.Close()
	if err := handle.Sync(); err != nil {
		return fmt.Errorf("syncing directory: %w", err)
	}
	return nil
}
