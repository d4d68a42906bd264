package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Binary is the path of pglab, built from ./gateway once in this test process
// and executable for every OS user; or what PGLAB_BINARY names.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := pglab()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var pglab = sync.OnceValues(findBinary)

func findBinary() (path string, err error) {
	path = os.Getenv("PGLAB_BINARY")
	switch {
	case path == "":
		return build("./gateway", "pglab")
	case !filepath.IsAbs(path) || !isProgram(path):
		return "", fmt.Errorf("PGLAB_BINARY is %q and must be the absolute path of a program", path)
	default:
		return path, nil
	}
}

// build builds a package of this module as it is shipped: static.
func build(pkg, name string) (path string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	home, err := processHome()
	if err != nil {
		return "", err
	}
	dir, err := home.makeDir("bin")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, strings.TrimSpace(string(output)))
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return "", fmt.Errorf("opening %s to every user: %w", name, err)
	}
	return path, nil
}

// moduleRoot is the directory with go.mod above the test's own.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for go.mod: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("looking for go.mod: none above %s; away from the sources, name a pglab in PGLAB_BINARY", start)
		}
	}
}
