package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"pglab/internal/controller"
	"pglab/internal/engine"
	"pglab/internal/lab"
	"pglab/internal/postgres"
	"pglab/internal/proxy"
	"pglab/internal/runtime/process"
	"pglab/internal/store"
)

// Accounts that an embedded lab run by root uses. The servers' users can run
// code as pglab-servers (bindir, archive_command), so that this account is
// neither the engine's nor ours.
const (
	engineAccount = "pglab"
	serverAccount = "pglab-servers"
)

// host is what this machine offers.
type host struct {
	installations   postgres.Installations
	engine, servers *postgres.Account // nil when we are no root
}

func (r *running) findPostgres(ctx context.Context) (h host, err error) {
	if os.Geteuid() == 0 {
		if h.engine, err = postgres.EnsureAccount(ctx, engineAccount); err != nil {
			return h, err
		}
		if h.servers, err = postgres.EnsureAccount(ctx, serverAccount); err != nil {
			return h, err
		}
	}
	h.installations, err = postgres.Find(ctx, r.postgresDirs, h.servers)
	if err != nil {
		return h, fmt.Errorf("--postgres-dir: %w", err)
	}
	return h, nil
}

// startEngine starts the embedded engine or turns to the one given, brings
// schema lab up to date there, and gives an embedded lab its first login.
func (r *running) startEngine(ctx context.Context, h host) (engineAddress, error) {
	if r.engine != "" {
		address, err := externalAddress(r.engine)
		if err != nil {
			return address, err
		}
		return address, r.prepareEngine(ctx, address.url)
	}
	embedded, err := engine.Start(ctx, engine.Config{
		Dir: filepath.Join(r.data, "engine"), Installations: h.installations, Account: h.engine, Log: r.log,
	})
	if err != nil {
		return engineAddress{}, err
	}
	r.onStop(embedded.Stop)
	if err := engine.EnsureDatabase(ctx, embedded.URL("postgres")); err != nil {
		return engineAddress{}, err
	}
	address, err := embeddedAddress(embedded)
	if err != nil {
		return address, err
	}
	return address, r.prepareEngine(ctx, address.url)
}

func (r *running) prepareEngine(ctx context.Context, url string) error {
	if err := engine.Apply(ctx, url, r.log); err != nil {
		return err
	}
	return engine.EnsureAdminLogin(ctx, url, r.passwordFile(), r.port)
}

func (r *running) passwordFile() string { return filepath.Join(r.data, "pgpass") }

func (r *running) openStore(ctx context.Context, address engineAddress) (*store.Store, *store.Logins, error) {
	labStore, err := store.Open(ctx, address.url)
	if err != nil {
		return nil, nil, err
	}
	r.onStop(func(context.Context) error { labStore.Close(); return nil })
	logins, err := store.OpenLogins(ctx, address.url)
	if err != nil {
		return nil, nil, err
	}
	r.onStop(func(context.Context) error { logins.Close(); return nil })
	return labStore, logins, nil
}

func (r *running) startRuntimes(ctx context.Context, labID string, h host) (map[string]lab.Runtime, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own program: %w", err)
	}
	processes, err := process.New(ctx, process.Config{
		Lab: labID, Dir: r.data, PostgresDirs: r.postgresDirs, Exe: exe, Account: h.servers, Log: r.log,
	})
	if err != nil {
		return nil, err
	}
	r.onStop(processes.Shutdown)
	return map[string]lab.Runtime{"process": processes}, nil
}

func (r *running) newProxy(router proxy.Router, roles proxy.Roles) (*proxy.Server, error) {
	encryption, err := serverTLS(r.config)
	if err != nil {
		return nil, err
	}
	secret, err := mockSecret(filepath.Join(r.data, "mock-secret"))
	if err != nil {
		return nil, err
	}
	return proxy.New(proxy.Config{Roles: roles, Router: router, Log: r.log, TLS: encryption, Secret: secret})
}

// serve opens the gate. It is the first part to stop: sessions see the lab
// whole to their end.
func (r *running) serve(gate *proxy.Server, listeners []net.Listener) {
	r.onStop(gate.Drain)
	for _, listener := range listeners {
		go func() {
			if err := gate.Serve(listener); err != nil {
				r.failed <- err
			}
		}()
	}
}

func (r *running) runController(matcher *controller.Controller) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		matcher.Run(ctx)
	}()
	r.onStop(func(context.Context) error {
		stop()
		<-ended
		return nil
	})
}
