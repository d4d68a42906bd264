package task

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Exit codes of the shim itself, by the custom of env(1) and nohup(1).
const (
	exitUsage   = 2
	exitShim    = 125 // it could not do its own part
	exitNotRun  = 126 // the program was found and cannot be run
	exitMissing = 127 // the program was not found
)

// Enter runs `pglab enter`: it joins cgroups, changes to an OS user and
// becomes the program that follows. It returns, with an exit code, only when
// something is in the way.
func Enter(args []string) int {
	launch, err := parseEnter(args, os.Stderr)
	if err != nil {
		return usage("enter", err)
	}
	if code, refused := launch.prepare("enter"); refused {
		return code
	}
	if err := dropPrivileges(launch.UID, launch.GID); err != nil {
		return complain("enter", err)
	}
	program, err := exec.LookPath(launch.Argv[0])
	if err == nil {
		err = syscall.Exec(program, launch.Argv, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "pglab enter: running %s: %v\n", launch.Argv[0], err)
	return exitCodeFor(err)
}

// prepare passes the gate and joins the cgroups. Refused, the shim ends with
// the code.
func (l Launch) prepare(subcommand string) (code int, refused bool) {
	if l.Gate {
		switch err := passGate(os.NewFile(gateFD, "gate")); {
		case errors.Is(err, io.EOF):
			return exitShim, true // nobody is left who wants this
		case err != nil:
			return complain(subcommand, err), true
		}
	}
	if err := joinGroups(l.Groups); err != nil {
		return complain(subcommand, err), true
	}
	return 0, false
}

// gateFD is the first descriptor after standard error.
const gateFD = 3

func passGate(gate *os.File) error {
	defer gate.Close()
	if _, err := gate.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting at the gate: %w", err)
	}
	return nil
}

// joinGroups moves this process into cgroups. The kernel allows it to who may
// write there, which an account of a workload may not: this comes before the
// change of user.
func joinGroups(groups []string) error {
	for _, group := range groups {
		const ourselves = "0"
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(ourselves), 0); err != nil {
			return fmt.Errorf("joining cgroup: %w", err)
		}
	}
	return nil
}

// dropPrivileges changes to an OS user for good, on every thread.
func dropPrivileges(uid, gid int) error {
	if uid == 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("giving up groups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("changing group to %d: %w", gid, err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("changing user to %d: %w", uid, err)
	}
	if err := syscall.Setuid(0); err == nil {
		return errors.New("giving up privileges: they could be taken back")
	}
	return nil
}

func usage(subcommand string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "pglab %s: %v\n", subcommand, err)
	return exitUsage
}

func complain(subcommand string, err error) int {
	fmt.Fprintf(os.Stderr, "pglab %s: %v\n", subcommand, err)
	return exitShim
}

func exitCodeFor(err error) int {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return exitMissing
	}
	return exitNotRun
}
