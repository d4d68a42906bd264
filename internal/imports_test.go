// Package internal holds the test that keeps imports one-way: the package
// map of README.md, enforced.
package internal

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// soleImporter names third-party packages that one package alone may import,
// so that a move to another library stays a change of one package.
var soleImporter = map[string]string{
	"github.com/jackc/pgx/v5/pgproto3": "pglab/internal/wire",
	"github.com/xdg-go/scram":          "pglab/internal/wire",
}

func TestImportsPointOneWay(t *testing.T) {
	allowed := packageMap(t)
	for pkg, imports := range packageImports(t) {
		if pkg == "pglab/internal" {
			continue
		}
		mayImport, known := allowed[pkg]
		if !known {
			t.Errorf("%s is not in the package map of README.md; add it there, or put its code where it belongs", pkg)
			continue
		}
		for _, path := range imports {
			if strings.HasPrefix(path, "pglab/") && !slices.Contains(mayImport, path) && !slices.Contains(mayImport, "anything") {
				t.Errorf("%s imports %s, which the package map of README.md does not allow", pkg, path)
			}
		}
	}
	for pkg := range allowed {
		if _, exists := packageImports(t)[pkg]; !exists {
			t.Errorf("the package map of README.md has %s, which does not exist", pkg)
		}
	}
}

var column = regexp.MustCompile(` {2,}`)

// packageMap reads the table in README.md: what each package may import.
// Test files are free: they start real components.
func packageMap(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "    package                       may import")
	if !found {
		t.Fatal("README.md has no package map")
	}
	allowed := map[string][]string{}
	for _, line := range strings.Split(table, "\n")[1:] {
		columns := column.Split(strings.TrimSpace(line), -1)
		if len(columns) < 3 {
			break
		}
		imports := []string{}
		for _, name := range strings.Fields(columns[1]) {
			switch name {
			case "-":
			case "anything", "sql":
				imports = append(imports, strings.Replace(name, "sql", "pglab/sql", 1))
			default:
				imports = append(imports, "pglab/internal/"+name)
			}
		}
		allowed["pglab/"+columns[0]] = imports
	}
	return allowed
}

func TestThirdPartyPackagesHaveOneImporter(t *testing.T) {
	for pkg, imports := range packageImports(t) {
		for _, path := range imports {
			if owner, guarded := soleImporter[path]; guarded && pkg != owner {
				t.Errorf("%s imports %s; only %s may", pkg, path, owner)
			}
			if path == "database/sql" || path == "log" {
				t.Errorf("%s imports %s; this project uses pgx and log/slog", pkg, path)
			}
		}
	}
}

func TestDomainImportsOnlyTheStandardLibrary(t *testing.T) {
	imports := packageImports(t)
	for _, pkg := range []string{"pglab/internal/lab", "pglab/internal/cgroup"} {
		for _, path := range imports[pkg] {
			if strings.Contains(strings.Split(path, "/")[0], ".") {
				t.Errorf("%s imports %s; it is to import the standard library only", pkg, path)
			}
		}
	}
}

// packageImports lists every package of the module with its imports, tests left out.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "pglab/...").Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		imports[fields[0]] = fields[1:]
	}
	return imports
}
