package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Installation is one directory of Postgres programs.
type Installation struct {
	Bindir     string // absolute
	Version    Version
	HasServer  bool // postgres and initdb are there
	HasPgbench bool
}

// Program is the path of one of the installation's programs.
func (i Installation) Program(name string) string { return filepath.Join(i.Bindir, name) }

// String names the installation in a message to its user.
func (i Installation) String() string { return fmt.Sprintf("%s (%s)", i.Version, i.Bindir) }

// probeTimeout bounds one `postgres --version`.
const probeTimeout = 10 * time.Second

var programVersion = regexp.MustCompile(`^(?:postgres|pgbench) \(PostgreSQL\) (\S+)`)

// ErrNoPrograms says that a directory holds neither a server nor pgbench.
var ErrNoPrograms = errors.New("no Postgres programs")

// Probe looks at one bindir. It runs what it finds there to learn the
// version, as the given account: the directory may be a stranger's, and a
// program that this account cannot run is of no use to it.
func Probe(ctx context.Context, bindir string, as *Account) (Installation, error) {
	bindir, err := filepath.Abs(bindir)
	if err != nil {
		return Installation{}, fmt.Errorf("resolving bindir: %w", err)
	}
	found := Installation{Bindir: bindir}
	found.HasServer = isProgram(found.Program("postgres")) && isProgram(found.Program("initdb"))
	found.HasPgbench = isProgram(found.Program("pgbench"))
	program := "postgres"
	switch {
	case found.HasServer:
	case found.HasPgbench:
		program = "pgbench"
	default:
		return Installation{}, fmt.Errorf("%w in %s: neither postgres and initdb nor pgbench", ErrNoPrograms, bindir)
	}
	found.Version, err = askVersion(ctx, found.Program(program), as)
	if err != nil {
		return Installation{}, err
	}
	return found, nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func askVersion(ctx context.Context, program string, as *Account) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as.credential(), Setsid: true}
	output, err := cmd.Output()
	if err != nil {
		return Version{}, fmt.Errorf("asking %s for its version as %s: %w", program, as, err)
	}
	match := programVersion.FindStringSubmatch(string(output))
	if match == nil {
		return Version{}, fmt.Errorf("asking %s for its version: unexpected answer %q", program, firstLine(string(output)))
	}
	return ParseVersion(match[1])
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return line
}
