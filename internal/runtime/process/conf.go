package process

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pglab/internal/lab"
)

// writeConf writes the configuration file that the postmaster is started
// with: initdb's, then the parameters of the row. They are in a file and not
// in arguments because those show in ps, and a parameter may be a secret.
func (r *Runtime) writeConf(dir string, spec lab.ServerSpec) error {
	var text strings.Builder
	text.WriteString("# Written by pglab from the cluster's row at every start.\n")
	fmt.Fprintf(&text, "include %s\n", quoteConf(filepath.Join(dir, "data", "postgresql.conf")))
	for _, name := range slices.Sorted(maps.Keys(spec.Parameters)) {
		fmt.Fprintf(&text, "%s = %s\n", name, quoteConf(spec.Parameters[name]))
	}
	path := filepath.Join(dir, "server.conf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	if r.Account == nil {
		return nil
	}
	// The account may read it and never change it.
	if err := os.Lchown(path, os.Geteuid(), r.Account.GID); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}

// quoteConf writes a value so that the server's parser gives it back as it is.
func quoteConf(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`, "\r", `\r`).Replace(value) + "'"
}
