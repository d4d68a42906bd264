package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// alwaysSearched are the folders of MAJOR subfolders that Find looks into
// whatever it is told.
var alwaysSearched = []string{"/usr/lib/postgresql", "/var/cache/pglab/postgres"}

// Installations are what Find found, newest first.
type Installations []Installation

// Find looks for installations in the given directories, in
// /usr/lib/postgresql/*, /var/cache/pglab/postgres/* and, in the user's home,
// .cache/pglab/postgres/*. A given directory is an installation's root, its
// bin, or a folder of such roots. Programs are probed as the given account.
//
// The error names the given directories that held nothing usable; what was
// found elsewhere is returned with it.
func Find(ctx context.Context, dirs []string, as *Account) (Installations, error) {
	search := finder{ctx: ctx, as: as, seen: make(map[string]bool)}
	var problems []error
	for _, dir := range dirs {
		if err := search.look(dir); err != nil {
			problems = append(problems, err)
		}
	}
	always := alwaysSearched
	if home, err := os.UserCacheDir(); err == nil {
		always = append(slices.Clone(always), filepath.Join(home, "pglab", "postgres"))
	}
	for _, dir := range always {
		// Nobody asked for these by name: nothing there is nothing wrong.
		_ = search.look(dir)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("looking for Postgres installations: %w", err)
	}
	slices.SortStableFunc(search.found, func(a, b Installation) int { return b.Version.Compare(a.Version) })
	return search.found, errors.Join(problems...)
}

type finder struct {
	ctx   context.Context
	as    *Account
	seen  map[string]bool // bindirs, symbolic links resolved
	found Installations
}

// look searches dir, which is a bindir, a root or a folder of roots.
func (f *finder) look(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for Postgres: %w", err)
	}
	bindirs := []string{dir, filepath.Join(dir, "bin")}
	for _, entry := range entries {
		if entry.Name() != "bin" {
			bindirs = append(bindirs, filepath.Join(dir, entry.Name(), "bin"))
		}
	}
	usable := false
	var problems []error
	for _, bindir := range bindirs {
		switch err := f.add(bindir); {
		case err == nil:
			usable = true
		case !errors.Is(err, ErrNoPrograms):
			problems = append(problems, err)
		}
	}
	if !usable && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%w in %s, its bin or its subfolders' bin", ErrNoPrograms, dir))
	}
	return errors.Join(problems...)
}

func (f *finder) add(bindir string) error {
	resolved, err := filepath.EvalSymlinks(bindir)
	if err != nil {
		return fmt.Errorf("%w in %s", ErrNoPrograms, bindir)
	}
	if f.seen[resolved] {
		return nil
	}
	installation, err := Probe(f.ctx, bindir, f.as)
	if err != nil {
		return err
	}
	f.seen[resolved] = true
	f.found = append(f.found, installation)
	return nil
}
