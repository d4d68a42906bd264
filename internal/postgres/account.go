package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// Account is an unprivileged OS user that programs are run as.
type Account struct {
	Name string
	UID  int
	GID  int
}

// LookupAccount finds an OS user by name.
func LookupAccount(name string) (*Account, error) {
	found, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("looking up OS user %s: %w", name, err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return nil, fmt.Errorf("looking up OS user %s: uid: %w", name, err)
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		return nil, fmt.Errorf("looking up OS user %s: gid: %w", name, err)
	}
	return &Account{Name: name, UID: uid, GID: gid}, nil
}

// EnsureAccount finds the system user of that name, or makes it: no home, no
// login, a group of its own. Only root can make one.
func EnsureAccount(ctx context.Context, name string) (*Account, error) {
	account, err := LookupAccount(name)
	var unknown user.UnknownUserError
	if err == nil || !errors.As(err, &unknown) {
		return account, err
	}
	cmd := exec.CommandContext(ctx, "useradd", "--system", "--user-group", "--no-create-home",
		"--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", "--comment", "pglab", name)
	output, err := cmd.CombinedOutput()
	if account, lookupErr := LookupAccount(name); lookupErr == nil {
		return account, nil // also when another process was faster
	}
	if err != nil {
		return nil, fmt.Errorf("making system user %s (create it yourself if useradd cannot): %w: %s",
			name, err, strings.TrimSpace(string(output)))
	}
	return LookupAccount(name)
}

// String is the account's name for messages.
func (a *Account) String() string {
	if a == nil {
		return "the current user"
	}
	return "OS user " + a.Name
}

// credential is what the kernel is to change to; nil changes nothing. No
// supplementary groups: nothing of ours leaks into what runs as the account.
func (a *Account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
}
