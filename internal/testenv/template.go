package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Of every server's superuser. Only TCP asks for the password.
const (
	SuperUser = "postgres"
	Password  = "not a secret"
)

// ourConfig is the file in the data directory that has a server's settings:
// neither what initdb wrote nor what ALTER SYSTEM will.
const ourConfig = "testenv.conf"

// templates holds, by bindir, the function that makes its data directory at
// the first call: initdb takes a second, a copy a fraction of it.
var templates sync.Map

// newDatadir makes a data directory at path, as initdb leaves it.
func newDatadir(bindir, path string, as *account) error {
	made, _ := templates.LoadOrStore(bindir, sync.OnceValues(func() (string, error) { return runInitdb(bindir, as) }))
	template, err := made.(func() (string, error))()
	if err != nil {
		return err
	}
	// As the account, owners and modes come by themselves: a fraction of the
	// system calls of an archive copy.
	if output, err := as.command("/bin/cp", "--recursive", "--reflink=auto", template, path).CombinedOutput(); err != nil {
		return fmt.Errorf("copying data directory: %w: %s", err, output)
	}
	return nil
}

func runInitdb(bindir string, as *account) (datadir string, err error) {
	home, err := processHome()
	if err != nil {
		return "", err
	}
	dir, err := home.makeDir("template")
	if err != nil {
		return "", err
	}
	if err := as.own(dir); err != nil {
		return "", err
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(Password+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("writing password: %w", err)
	}
	datadir = filepath.Join(dir, "template")
	initdb := as.command(filepath.Join(bindir, "initdb"), "--pgdata="+datadir, "--username="+SuperUser,
		"--pwfile="+password, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if output, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("running %s: %w\n%s", initdb.Path, err, strings.TrimSpace(string(output)))
	}
	return datadir, includeConfig(datadir, as)
}

func includeConfig(datadir string, as *account) error {
	file, err := os.OpenFile(filepath.Join(datadir, "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("opening postgresql.conf: %w", err)
	}
	_, err = fmt.Fprintf(file, "include '%s'\n", ourConfig)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("extending postgresql.conf: %w", err)
	}
	ours := filepath.Join(datadir, ourConfig)
	if err := os.WriteFile(ours, nil, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", ourConfig, err)
	}
	return as.own(ours)
}
