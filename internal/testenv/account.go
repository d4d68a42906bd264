package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// serverAccount is the OS user that servers run as when the tests run as
// root, whom Postgres refuses. The distribution's package makes it.
const serverAccount = "postgres"

// account is an OS user to run programs as; nil is the current one.
type account struct{ uid, gid int }

// findAccount returns nil unless the tests run as root.
func findAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	found, err := user.Lookup(serverAccount)
	if err != nil {
		return nil, fmt.Errorf("OS user %s is missing: run deploy/install.sh packages: %w", serverAccount, err)
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if uidErr != nil || gidErr != nil {
		return nil, fmt.Errorf("OS user %s has uid %q and gid %q", serverAccount, found.Uid, found.Gid)
	}
	return &account{uid: uid, gid: gid}, nil
}

// command is a program run as the account, with an environment that is the
// same everywhere, away from a working directory that it may not read.
func (a *account) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.Env = cleanEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// own makes the account the owner of a file or directory that it is to write.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("giving file to OS user %s: %w", serverAccount, err)
	}
	return nil
}

// cleanEnv has nothing of the developer's: no PG* variable, no locale.
func cleanEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}
