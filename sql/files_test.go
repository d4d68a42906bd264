package sql_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/sql"
)

func TestFilesAreAllThereInOrder(t *testing.T) {
	var names, migrations []string
	for _, file := range sql.Files() {
		names = append(names, file.Name)
		isMigration := filepath.Dir(file.Name) == "migrations"
		if isMigration {
			migrations = append(migrations, file.Name)
		}
		if isMigration != (file.Kind == sql.Migration) {
			t.Errorf("%s is of kind %s", file.Name, file.Kind)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(file.Text))); file.SHA256 != want {
			t.Errorf("%s has SHA256 %s, want %s", file.Name, file.SHA256, want)
		}
	}
	if names[0] != "roles.sql" || names[1] != "migrations/0001_lab.sql" {
		t.Errorf("the first files are %v", names[:2])
	}
	for i, name := range migrations {
		if !regexp.MustCompile(fmt.Sprintf(`^migrations/%04d_[a-z_]+\.sql$`, i+1)).MatchString(name) {
			t.Errorf("migration %d is called %s", i+1, name)
		}
	}

	var onDisk []string
	err := fs.WalkDir(os.DirFS("schema"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			onDisk = append(onDisk, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(onDisk, slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("files of schema/ that are not applied: %s", diff)
	}
}
