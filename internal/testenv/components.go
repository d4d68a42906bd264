package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// distribution is where Debian and Ubuntu install Postgres, MAJOR/bin in it.
const distribution = "/usr/lib/postgresql"

// Majors are the majors of Postgres that pglab supports, oldest first.
func Majors() []int { return []int{14, 15, 16, 17, 18} }

// Bindir is the directory with postgres, initdb and pg_ctl of a major; not
// every one has psql or pgbench. The test fails when there is none.
func Bindir(t testing.TB, major int) string {
	t.Helper()
	bindir, err := findServer(major)
	if err != nil {
		t.Fatal(err)
	}
	return bindir
}

// Pgbench is the path of pgbench of a major: 13, 15, 17 or 18. The test fails
// when there is none.
func Pgbench(t testing.TB, major int) string {
	t.Helper()
	name := filepath.Join(strconv.Itoa(major), "bin", "pgbench")
	candidates := []string{filepath.Join(distribution, name)}
	for _, cache := range caches() {
		candidates = append(candidates, filepath.Join(cache, "pgbench", name))
	}
	found := slices.IndexFunc(candidates, isProgram)
	if found < 0 {
		t.Fatalf("pgbench %d is not installed: run deploy/install.sh pgbench %d", major, major)
	}
	return candidates[found]
}

// findServer prefers the builds that are known to the minor.
func findServer(major int) (bindir string, err error) {
	name := filepath.Join(strconv.Itoa(major), "bin")
	var candidates []string
	for _, cache := range caches() {
		candidates = append(candidates, filepath.Join(cache, "postgres", name))
	}
	candidates = append(candidates, filepath.Join(distribution, name))
	for _, bindir := range candidates {
		if isProgram(filepath.Join(bindir, "postgres")) && isProgram(filepath.Join(bindir, "initdb")) {
			return bindir, nil
		}
	}
	return "", fmt.Errorf("postgres %d is not installed: run deploy/install.sh postgres %d", major, major)
}

// findPsql finds the newest psql of the distribution, past the wrapper that
// it puts into PATH: that one reads configuration of its own.
func findPsql() (path string, err error) {
	newest := -1
	found, err := filepath.Glob(filepath.Join(distribution, "*", "bin", "psql"))
	if err != nil {
		return "", fmt.Errorf("looking for psql: %w", err)
	}
	for _, candidate := range found {
		major, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(candidate))))
		if err == nil && major > newest && isProgram(candidate) {
			newest, path = major, candidate
		}
	}
	if path == "" {
		return "", errors.New("psql is not installed: run deploy/install.sh packages")
	}
	return path, nil
}

// caches are the places that deploy/install.sh may have installed into: as
// this user, and as root for everybody.
func caches() []string {
	if cache := os.Getenv("PGLAB_CACHE"); cache != "" {
		return []string{cache}
	}
	all := []string{"/var/cache/pglab"}
	if own, err := os.UserCacheDir(); err == nil && os.Geteuid() != 0 {
		all = append([]string{filepath.Join(own, "pglab")}, all...)
	}
	return all
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
