package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// Config is what a Runtime works with.
type Config struct {
	Lab          string            // id of this lab
	Dir          string            // absolute; everything lies below it
	PostgresDirs []string          // where to look for installations besides the usual places
	Exe          string            // path of the pglab binary, for its subcommands enter and task
	Account      *postgres.Account // runs servers and tasks; nil: as we are. Needed when we are root
	Log          *slog.Logger
}

// Runtime runs servers and tasks as processes of this host. Make one with New.
type Runtime struct {
	Config
	ground   *ground
	locks    locks
	changed  broadcast
	watchers sync.WaitGroup // of our own children

	mu       sync.Mutex
	found    postgres.Installations // as of the last look
	trouble  string                 // with it
	children map[postgres.Identity]*postgres.Child
	closed   bool // by Shutdown
}

var _ lab.Runtime = (*Runtime)(nil)

// New makes a runtime over the state in config.Dir, which it makes when it
// is missing. What runs there is adopted.
func New(ctx context.Context, config Config) (*Runtime, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	r := &Runtime{Config: config, children: make(map[postgres.Identity]*postgres.Child)}
	for _, dir := range []string{r.Dir, r.serversDir(), r.tasksDir()} {
		if err := ensureDir(dir); err != nil {
			return nil, err
		}
	}
	r.clearUnfinished()
	r.ground = prepareGround(cgroup.Host{}, r.Lab)
	if r.ground.trouble != "" {
		r.Log.Info("no control groups", "reason", r.ground.trouble)
	}
	if _, err := r.look(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (c Config) check() error {
	switch {
	case !filepath.IsAbs(c.Dir) || strings.ContainsAny(c.Dir, "\n\x00"):
		return fmt.Errorf("making process runtime: %q is not an absolute directory", c.Dir)
	case os.Geteuid() == 0 && c.Account == nil:
		return errors.New("making process runtime: Postgres refuses to run as root; name an OS user for it")
	}
	if err := checkName("lab id", c.Lab); err != nil {
		return fmt.Errorf("making process runtime: %w", err)
	}
	return nil
}

// look searches for installations anew.
func (r *Runtime) look(ctx context.Context) (postgres.Installations, error) {
	found, err := postgres.Find(ctx, r.PostgresDirs, r.Account)
	if ctx.Err() != nil {
		return nil, err
	}
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if trouble != "" && trouble != r.trouble {
		r.Log.Warn("some Postgres directories are of no use", "err", err)
	}
	r.found, r.trouble = found, trouble
	return found, nil
}

// installation resolves a version among what was found; before it gives up it
// looks again, for what was installed since.
func (r *Runtime) installation(ctx context.Context, resolve func(postgres.Installations) (postgres.Installation, error)) (postgres.Installation, error) {
	r.mu.Lock()
	found := r.found
	r.mu.Unlock()
	if picked, err := resolve(found); err == nil {
		return picked, nil
	}
	found, err := r.look(ctx)
	if err != nil {
		return postgres.Installation{}, err
	}
	picked, err := resolve(found)
	if err != nil {
		return postgres.Installation{}, lab.InvalidSpec("%w", err)
	}
	return picked, nil
}

// Probe implements lab.Runtime.
func (r *Runtime) Probe(ctx context.Context) lab.Probe {
	found, err := r.look(ctx)
	if err != nil {
		return lab.Probe{Health: lab.Unhealthy, Message: err.Error()}
	}
	var servers, clients []string
	for _, installation := range found {
		if installation.HasServer {
			servers = append(servers, installation.Version.String())
		}
		if installation.HasPgbench && installation.Version.Major >= postgres.OldestClient {
			clients = append(clients, installation.Version.String())
		}
	}
	probe := lab.Probe{Health: lab.Healthy, Capabilities: map[string]any{
		"cpu_limit":    r.ground.has("cpu"),
		"memory_limit": r.ground.has("memory"),
		"cpuset_limit": r.ground.has("cpuset"),
		"usage":        r.ground.source(),
		"servers":      servers,
		"clients":      clients,
	}}
	_, noServer := found.Server("")
	_, noClient := found.Client("")
	closedDir := reachable(r.Dir, r.Account)
	switch {
	case noServer != nil:
		probe.Health, probe.Message = lab.Undetected, noServer.Error()
	case noClient != nil:
		probe.Health, probe.Message = lab.Unhealthy, noClient.Error()
	case closedDir != nil:
		probe.Health, probe.Message = lab.Unhealthy, closedDir.Error()
	default:
		probe.Message = fmt.Sprintf("Postgres %s as %s; %s", strings.Join(servers, ", "), r.Account, r.ground)
	}
	return probe
}

// isClosed reports whether Shutdown was called.
func (r *Runtime) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
