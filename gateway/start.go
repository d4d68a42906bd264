package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"pglab/internal/controller"
	"pglab/internal/engine"
)

// start brings the parts up in the order in which they need each other.
func (r *running) start(ctx context.Context) error {
	if err := r.takeDirectory(); err != nil {
		return err
	}
	listeners, err := r.openListeners(ctx)
	if err != nil {
		return err
	}
	host, err := r.findPostgres(ctx)
	if err != nil {
		return err
	}
	address, err := r.startEngine(ctx, host)
	if err != nil {
		return err
	}
	labStore, logins, err := r.openStore(ctx, address)
	if err != nil {
		return err
	}
	labID, err := labStore.LabID(ctx)
	if err != nil {
		return err
	}
	runtimes, err := r.startRuntimes(ctx, labID, host)
	if err != nil {
		return err
	}
	gate, err := r.newProxy(router{engine: address, store: labStore, runtimes: runtimes}, roles{logins})
	if err != nil {
		return err
	}
	matcher := controller.New(controller.Config{
		Store: labStore, Runtimes: runtimes, LabID: labID,
		Journals:    filepath.Join(r.data, "journals"),
		EndSessions: gate.Terminate,
		Log:         r.log,
	})
	if err := matcher.Recover(ctx); err != nil {
		return err
	}
	r.runController(matcher)
	r.serve(gate, listeners)
	r.announce()
	return nil
}

// announce prints the one line that a newcomer pastes.
func (r *running) announce() {
	host, _, _ := net.SplitHostPort(r.listen)
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	fmt.Printf("PGPASSFILE=%s psql -h %s -p %s -U %s %s\n", r.passwordFile(), host, r.port, engine.AdminLogin, engine.Database)
}
