// Package internal holds the test that keeps imports one-way: the package
// map of README.md, enforced.
package internal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport is the package map. A package that is not listed may not exist;
// an import that is not listed may not be made. Test files are free: they
// start real components.
var mayImport = map[string][]string{
	"pglab/sql":                          {},
	"pglab/internal/lab":                 {},
	"pglab/internal/cgroup":              {},
	"pglab/internal/postgres":            {},
	"pglab/internal/wire":                {},
	"pglab/internal/engine":              {"pglab/internal/postgres", "pglab/sql"},
	"pglab/internal/store":               {"pglab/internal/lab", "pglab/sql"},
	"pglab/internal/proxy":               {"pglab/internal/lab", "pglab/internal/wire"},
	"pglab/internal/pgbench":             {"pglab/internal/lab"},
	"pglab/internal/task":                {"pglab/internal/cgroup", "pglab/internal/pgbench"},
	"pglab/internal/sampler":             {"pglab/internal/cgroup", "pglab/internal/lab"},
	"pglab/internal/runtime/process":     {"pglab/internal/cgroup", "pglab/internal/lab", "pglab/internal/postgres", "pglab/internal/task"},
	"pglab/internal/controller":          {"pglab/internal/lab", "pglab/internal/pgbench", "pglab/internal/sampler"},
	"pglab/internal/runtime/runtimetest": {"pglab/internal/lab"},
	"pglab/internal/testenv":             {},
}

// soleImporter names third-party packages that one package alone may import,
// so that a move to another library stays a change of one package.
var soleImporter = map[string]string{
	"github.com/jackc/pgx/v5/pgproto3": "pglab/internal/wire",
	"github.com/xdg-go/scram":          "pglab/internal/wire",
}

func TestImportsPointOneWay(t *testing.T) {
	for pkg, imports := range packageImports(t) {
		if pkg == "pglab/gateway" || pkg == "pglab/internal" {
			continue
		}
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s is not in the package map; add it here and in internal/README.md, or put its code where it belongs", pkg)
			continue
		}
		for _, path := range imports {
			if strings.HasPrefix(path, "pglab/") && !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s, which the package map does not allow", pkg, path)
			}
		}
	}
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
