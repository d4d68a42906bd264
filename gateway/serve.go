package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shutdownTimeout bounds an orderly stop: sessions, benchmarks, servers, engine.
const shutdownTimeout = 60 * time.Second

// serve runs the lab until a signal. A second signal hurries it.
func serve(args []string) int {
	c, err := parseConfig(args, os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pglab serve:", err)
		return 2
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.logLevel}))
	first, second := stopSignals()
	if err := runLab(first, second, c, log); err != nil {
		log.Error("lab ended", "err", err)
		return 1
	}
	return 0
}

// stopSignals returns a context that ends with the first SIGTERM or SIGINT,
// and one that ends with the second.
func stopSignals() (first, second context.Context) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	first, stop := context.WithCancel(context.Background())
	second, hurry := context.WithCancel(context.Background())
	go func() {
		<-signals
		stop()
		<-signals
		hurry()
	}()
	return first, second
}

// running is a lab that is up, or on its way up or down.
type running struct {
	config
	log      *slog.Logger
	port     string                            // that we listen on
	failed   chan error                        // of a part that ended by itself
	stoppers []func(ctx context.Context) error // the last one stops first
}

// runLab starts every part, serves until ctx ends, and stops the parts in
// reverse. hurry cuts the stopping short.
func runLab(ctx, hurry context.Context, c config, log *slog.Logger) (err error) {
	r := &running{config: c, log: log, failed: make(chan error, 4)}
	defer func() {
		stopping, cancel := context.WithTimeout(hurry, shutdownTimeout)
		defer cancel()
		err = errors.Join(err, r.stop(stopping))
	}()
	if err := r.start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		log.Info("stopping")
		return nil
	case err := <-r.failed:
		return err
	}
}

func (r *running) onStop(stop func(context.Context) error) { r.stoppers = append(r.stoppers, stop) }

func (r *running) stop(ctx context.Context) error {
	var problems []error
	for i := len(r.stoppers) - 1; i >= 0; i-- {
		problems = append(problems, r.stoppers[i](ctx))
	}
	return errors.Join(problems...)
}
