package sql_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference part of README.md from the catalog")

func TestEverythingIsCommented(t *testing.T) {
	r := newRoom(t, 15)
	for what, query := range map[string]string{
		"relation": `SELECT c.oid::regclass::text FROM pg_class c
			WHERE c.relnamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace) AND c.relkind IN ('r', 'v', 'S') AND obj_description(c.oid, 'pg_class') IS NULL`,
		"column": `SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE c.relnamespace = 'lab'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND col_description(a.attrelid, a.attnum) IS NULL`,
		"schema": `SELECT n.nspname::text FROM pg_namespace n WHERE n.nspname IN ('lab', 'lab_private') AND obj_description(n.oid, 'pg_namespace') IS NULL`,
	} {
		if found := column[string](t, r.owner, query); len(found) > 0 {
			t.Errorf("%s without a comment: %v", what, found)
		}
	}
}

// The relations of README.md, in the order in which a reader meets them.
var relations = []string{"clusters", "runs", "launches", "results", "measurements", "usage", "progress", "logs", "lanes", "removals", "runtimes", "roles"}

const (
	referenceBegin = "<!-- reference: go test ./sql -run Readme -update writes from here -->\n"
	referenceEnd   = "<!-- reference: to here -->\n"
)

func TestReadmeSaysWhatTheCommentsSay(t *testing.T) {
	r := newRoom(t, 15)
	want := reference(t, r)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := bytes.Cut(readme, []byte(referenceBegin))
	got, after, ends := bytes.Cut(rest, []byte(referenceEnd))
	if !begins || !ends {
		t.Fatal("README.md has no reference part")
	}
	if *update {
		text := slices.Concat(before, []byte(referenceBegin), []byte(want), []byte(referenceEnd), after)
		if err := os.WriteFile("README.md", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("README.md is not what the schema is; go test ./sql -run Readme -update\n%s", diff)
	}
}

// reference is the part of README.md that follows from the catalog.
func reference(t *testing.T, r *room) string {
	t.Helper()
	there := column[string](t, r.owner, "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'lab'::regnamespace AND c.relkind IN ('r', 'v') ORDER BY 1")
	if diff := cmp.Diff(slices.Sorted(slices.Values(relations)), there); diff != "" {
		t.Fatalf("relations of the schema that README.md does not know: %s", diff)
	}
	var text strings.Builder
	for _, relation := range relations {
		comment := one[string](t, r.owner, "SELECT obj_description(('lab.' || $1)::regclass, 'pg_class')", relation)
		fmt.Fprintf(&text, "\n### lab.%s\n\n%s\n\n| column | type | |\n|---|---|---|\n", relation, comment)
		for _, line := range column[string](t, r.owner, `SELECT format('| %s | %s | %s |', a.attname, replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'),
				replace(col_description(a.attrelid, a.attnum), '|', '\|'))
			FROM pg_attribute a WHERE a.attrelid = ('lab.' || $1)::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, relation) {
			text.WriteString(line + "\n")
		}
	}
	return text.String() + "\n"
}
