package postgres

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Port is in the name of every socket; nothing listens on TCP.
const Port = 5432

// PostmasterArgv is the command line of a postmaster that listens on a unix
// socket in socketDir and nowhere else. Settings are given as -c arguments,
// which win over every file and show in ps: no secrets.
func PostmasterArgv(with Installation, datadir, socketDir string, settings map[string]string) []string {
	ours := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(Port),
		"unix_socket_directories": quoteListItem(socketDir),
		"unix_socket_permissions": "0700",
	}
	all := maps.Clone(settings)
	if all == nil {
		all = make(map[string]string)
	}
	maps.Copy(all, ours)
	argv := []string{with.Program("postgres"), "-D", datadir}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		argv = append(argv, "-c", name+"="+all[name])
	}
	return argv
}

// quoteListItem writes one element of a setting that is a list.
func quoteListItem(item string) string {
	return `"` + strings.ReplaceAll(item, `"`, `""`) + `"`
}

// maxSocketPath is what fits into sockaddr_un, without its final zero byte.
const maxSocketPath = 107

// SocketPath is where a postmaster listens that was started with this
// socketDir. The error says so when the path is too long for the kernel.
func SocketPath(socketDir string) (string, error) {
	path := filepath.Join(socketDir, ".s.PGSQL."+strconv.Itoa(Port))
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path of the socket, %s, has %d bytes and the kernel allows %d; choose a shorter directory",
			path, len(path), maxSocketPath)
	}
	return path, nil
}

// PostmasterEnv is the environment for initdb and postmasters: nothing of
// ours, so that it is the same everywhere.
func PostmasterEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// DataMajor is the major version that a data directory was made by, as
// its PG_VERSION says ("16"). fs.ErrNotExist when it is no data directory.
func DataMajor(datadir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(datadir, "PG_VERSION"))
	if err != nil {
		return "", fmt.Errorf("reading version of data directory: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
