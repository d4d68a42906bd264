package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ListenUnix listens on dir/.s.PGSQL.PORT, where libpq looks when its host is
// dir. A socket left behind by a process that was killed is replaced; one
// that answers is an error.
func ListenUnix(dir string, port int) (net.Listener, error) {
	path := filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", port))
	ln, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		ln, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on unix socket: %w", err)
	}
	return ln, nil
}

func removeStale(path string) error {
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("listening on unix socket: %s is in use by another process", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("probing unix socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing stale unix socket: %w", err)
	}
	return nil
}
