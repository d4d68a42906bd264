// Package sql carries schema lab: the files below schema/, embedded, in the
// order in which an engine applies them. What users run themselves
// (setup.sql, launch.sql, ...) lies beside it and is not embedded.
package sql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// Kind says how often a file is applied.
type Kind string

const (
	// Migration is applied once and never edited afterwards.
	Migration Kind = "migration"
	// Repeatable describes what is to be and may be applied any number of times.
	Repeatable Kind = "repeatable"
)

// File is one file of plain SQL, to be executed as a whole by a superuser in
// a transaction, with search_path empty.
type File struct {
	Name   string // path below schema/, such as "functions/runs.sql"
	Kind   Kind
	Text   string
	SHA256 string // of Text, in hexadecimal
}

//go:embed schema
var schema embed.FS

// order lists files and folders of schema/; within a folder order is lexical.
// Roles belong to the server and are needed by everything else.
var order = []struct {
	pattern string
	kind    Kind
}{
	{"roles.sql", Repeatable},
	{"migrations/*.sql", Migration},
	{"functions/*.sql", Repeatable},
	{"views/*.sql", Repeatable},
	{"grants.sql", Repeatable},
	{"comments/*.sql", Repeatable},
}

// Files returns every file in the order to apply. A migration that was
// applied with another SHA256 is an error of whoever edited it. When a
// migration is new or any Repeatable has changed, every Repeatable is to be
// applied again: a migration may have dropped the views in its way.
func Files() []File {
	var files []File
	for _, group := range order {
		names, err := fs.Glob(schema, path.Join("schema", group.pattern))
		if err != nil {
			panic(fmt.Sprintf("sql: pattern %q: %v", group.pattern, err))
		}
		for _, name := range names {
			files = append(files, read(name, group.kind))
		}
	}
	return files
}

func read(name string, kind Kind) File {
	text, err := schema.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("sql: embedded file %s: %v", name, err))
	}
	sum := sha256.Sum256(text)
	return File{
		Name:   name[len("schema/"):],
		Kind:   kind,
		Text:   string(text),
		SHA256: hex.EncodeToString(sum[:]),
	}
}
