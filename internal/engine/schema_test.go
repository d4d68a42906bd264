package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/sql"
)

var files = []sql.File{
	{Name: "roles.sql", Kind: sql.Repeatable, SHA256: "r1"},
	{Name: "migrations/0001.sql", Kind: sql.Migration, SHA256: "m1"},
	{Name: "migrations/0002.sql", Kind: sql.Migration, SHA256: "m2"},
	{Name: "views/v.sql", Kind: sql.Repeatable, SHA256: "v1"},
}

func TestPendingFiles(t *testing.T) {
	for _, test := range []struct {
		name    string
		applied map[string]string
		want    []string
	}{
		{"new database", nil, []string{"roles.sql", "migrations/0001.sql", "migrations/0002.sql", "views/v.sql"}},
		{"nothing has changed", map[string]string{"roles.sql": "r1", "migrations/0001.sql": "m1", "migrations/0002.sql": "m2", "views/v.sql": "v1"}, nil},
		{"a view has changed", map[string]string{"roles.sql": "r1", "migrations/0001.sql": "m1", "migrations/0002.sql": "m2", "views/v.sql": "v0"},
			[]string{"roles.sql", "views/v.sql"}},
		{"a migration is new", map[string]string{"roles.sql": "r1", "migrations/0001.sql": "m1", "views/v.sql": "v1"},
			[]string{"roles.sql", "migrations/0002.sql", "views/v.sql"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pending, err := pendingFiles(files, test.applied)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, file := range pending {
				names = append(names, file.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPendingFilesRefusesWhatItCannotKnow(t *testing.T) {
	for words, applied := range map[string]map[string]string{
		"in another form":   {"migrations/0001.sql": "edited"},
		"use a newer pglab": {"migrations/0001.sql": "m1", "migrations/0003.sql": "m3"},
	} {
		if _, err := pendingFiles(files, applied); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("applied %v: error is %v, want %q", applied, err, words)
		}
	}
}
