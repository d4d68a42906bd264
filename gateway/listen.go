package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"pglab/internal/proxy"
)

func (r *running) takeDirectory() error {
	// 0711: the accounts of engine and servers pass through, and see nothing.
	if err := os.MkdirAll(r.data, 0o711); err != nil {
		return fmt.Errorf("making data directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(r.data, "journals"), 0o700); err != nil {
		return fmt.Errorf("making data directory: %w", err)
	}
	lock, err := lockInstance(r.config)
	if err != nil {
		return err
	}
	r.onStop(func(context.Context) error { return lock.Close() })
	return nil
}

// openListeners opens the TCP address and the unix socket before anything
// else is started: a taken port is told at once.
func (r *running) openListeners(ctx context.Context) ([]net.Listener, error) {
	tcp, err := new(net.ListenConfig).Listen(ctx, "tcp", r.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program: stop it or choose another address with --listen", r.listen)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", r.listen, err)
	}
	r.onStop(func(context.Context) error { tcp.Close(); return nil })
	_, r.port, _ = net.SplitHostPort(tcp.Addr().String())
	port, err := strconv.Atoi(r.port)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", r.listen, err)
	}
	unix, err := proxy.ListenUnix(r.data, port)
	if err != nil {
		return nil, err
	}
	r.onStop(func(context.Context) error { unix.Close(); return nil })
	if err := os.Chmod(unix.Addr().String(), 0o777); err != nil { // who may log in is decided there, by SCRAM or OS user
		return nil, fmt.Errorf("opening socket: %w", err)
	}
	return []net.Listener{tcp, unix}, nil
}
