package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// checkSpec refuses, in words, what cannot be on this runtime whatever the
// host is like.
func (r *Runtime) checkSpec(spec lab.ServerSpec) error {
	if err := checkServerRef(spec.Ref()); err != nil {
		return err
	}
	switch {
	case spec.Lab != r.Lab:
		return lab.InvalidSpec("cluster %s belongs to lab %s, this is lab %s", spec.Name, spec.Lab, r.Lab)
	case spec.Image != "":
		return lab.Unsupported("runtime process runs programs of this host, not images; leave image NULL, or use runtime docker or kubernetes")
	case spec.Storage != 0:
		return lab.Unsupported("runtime process cannot limit storage; leave storage NULL")
	case spec.Bindir != "" && !filepath.IsAbs(spec.Bindir):
		return lab.InvalidSpec("bindir %q is not an absolute path", spec.Bindir)
	}
	return checkParameters(spec.Parameters)
}

var parameterForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*$`)

// reserved are the parameters that say where a server is and who reaches it.
var reserved = []string{
	"config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "listen_addresses", "port",
	"unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
	"include", "include_dir", "include_if_exists", // not parameters, but words of the file that we write
}

func checkParameters(parameters map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		switch {
		case !parameterForm.MatchString(name):
			return lab.InvalidSpec("parameters: %q is not a name of a parameter", name)
		case slices.Contains(reserved, strings.ToLower(name)):
			return lab.InvalidSpec("parameters: %s is set by pglab; leave it out", name)
		case strings.ContainsRune(parameters[name], 0):
			return lab.InvalidSpec("parameters: the value of %s has a zero byte", name)
		}
	}
	return nil
}

// choose finds the programs for a server, and checks what depends on their version.
func (r *Runtime) choose(ctx context.Context, spec lab.ServerSpec) (postgres.Installation, error) {
	chosen, err := r.chooseInstallation(ctx, spec)
	if err != nil {
		return postgres.Installation{}, err
	}
	if err := postgres.CheckInitdb(chosen.Version, spec.Initdb); err != nil {
		return postgres.Installation{}, lab.InvalidSpec("initdb: %w", err)
	}
	return chosen, nil
}

func (r *Runtime) chooseInstallation(ctx context.Context, spec lab.ServerSpec) (postgres.Installation, error) {
	if spec.Bindir == "" {
		return r.installation(ctx, func(all postgres.Installations) (postgres.Installation, error) { return all.Server(spec.Version) })
	}
	own, err := postgres.Probe(ctx, spec.Bindir, r.Account)
	switch {
	case errors.Is(err, postgres.ErrNoPrograms):
		return postgres.Installation{}, lab.InvalidSpec("bindir: %w", err)
	case err != nil:
		return postgres.Installation{}, fmt.Errorf("looking at bindir: %w", err)
	case !own.HasServer:
		return postgres.Installation{}, lab.InvalidSpec("bindir: %s has pgbench and no server", spec.Bindir)
	case spec.Version != "" && !own.Version.Matches(spec.Version):
		return postgres.Installation{}, lab.InvalidSpec("bindir: %s has Postgres %s, and version asks for %s; make them agree or leave version NULL",
			spec.Bindir, own.Version, spec.Version)
	}
	return own, nil
}

// drift names the columns in which a server differs from its row, or "".
func drift(made, asked lab.ServerSpec) string {
	var columns []string
	for _, column := range []struct {
		name string
		same bool
	}{
		{"version", made.Version == asked.Version},
		{"bindir", made.Bindir == asked.Bindir},
		{"cpu", made.CPU == asked.CPU},
		{"memory", made.Memory == asked.Memory},
		{"cpuset", made.Cpuset == asked.Cpuset},
		{"parameters", maps.Equal(made.Parameters, asked.Parameters)},
		{"initdb", maps.Equal(made.Initdb, asked.Initdb)},
	} {
		if !column.same {
			columns = append(columns, column.name)
		}
	}
	if len(columns) == 0 {
		return ""
	}
	return fmt.Sprintf("the server differs from its row in %s; delete the row and insert it again to have it made anew",
		strings.Join(columns, ", "))
}
