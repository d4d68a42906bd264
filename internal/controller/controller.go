package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"pglab/internal/lab"
	"pglab/internal/store"
)

// passInterval bounds how long a lost notification can go unnoticed. To wake
// up costs more than to look around, so timers beside benchmarks are slow.
const passInterval = 2 * time.Second

// Causes that end a worker early. They are told apart because a stopping lab
// leaves a benchmark for its successor, while a canceled one is taken down.
var (
	errStopping = errors.New("pglab is stopping")
	errRowGone  = errors.New("the row was deleted, canceled or retried")
	errTimeout  = errors.New("timed out")
)

// Config is what a Controller works with. Every field is needed.
type Config struct {
	Store    *store.Store
	Runtimes map[string]lab.Runtime // by the name in lab.clusters.runtime
	LabID    string
	// Journals is a directory for the sampler's journals: they let a run that
	// outlives its controller still have counters from both edges of its window.
	Journals string
	// EndSessions ends every user's session on a cluster that is being removed.
	EndSessions func(cluster string)
	Log         *slog.Logger
}

// Controller drives clusters, lanes and runs. Make one with New.
type Controller struct {
	Config
	wake     chan struct{}
	keepers  crew // one per cluster, by uid
	drivers  crew // one per attempt that holds a lane
	removers crew // one per tombstone
}

// New makes a controller; Run starts it.
func New(config Config) *Controller {
	return &Controller{Config: config, wake: make(chan struct{}, 1)}
}

// Wake brings the next pass forward.
func (c *Controller) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Recover writes down what works here and which clusters did not outlive the
// last pglab. Call it before users can look: a row that says ready is to be
// believed.
func (c *Controller) Recover(ctx context.Context) error {
	c.probe(ctx)
	clusters, err := c.Store.Clusters(ctx)
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		if cluster.State != lab.ClusterReady {
			continue
		}
		runtime, err := c.runtime(cluster.Runtime)
		if err == nil {
			var server lab.Server
			server, err = runtime.InspectServer(ctx, lab.ServerRef{Name: cluster.Name, UID: cluster.UID})
			if err == nil && server.Phase == lab.ServerReady {
				continue
			}
		}
		c.setCluster(ctx, cluster, lab.ClusterCreating, "starting again with pglab", "", "")
	}
	return nil
}

// Run works until ctx ends, then waits for its workers. Running benchmarks
// and servers are left as they are.
func (c *Controller) Run(ctx context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(errStopping)

	var background crew
	background.start(ctx, "listen", func(ctx context.Context) {
		c.Store.Listen(ctx, c.Log, func(string) { c.Wake() })
	})
	background.start(ctx, "probe", c.keepProbing)
	for name, runtime := range c.Runtimes {
		background.start(ctx, "watch "+name, func(ctx context.Context) {
			for range runtime.Watch(ctx) {
				c.keepers.wakeAll()
			}
		})
	}
	background.start(ctx, "sweep", c.keepSweeping)

	ticker := time.NewTicker(passInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("pass incomplete", "err", err)
		}
		select {
		case <-c.wake:
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	stop(errStopping)
	for _, crew := range []*crew{&c.drivers, &c.keepers, &c.removers, &background} {
		crew.wait()
	}
}

// pass compares every row with the workers that serve it.
func (c *Controller) pass(ctx context.Context) error {
	rows, err := c.Store.Overview(ctx)
	if err != nil {
		return err
	}
	if c.autolaunch(ctx, rows.Waiting) {
		if rows, err = c.Store.Overview(ctx); err != nil {
			return err
		}
	}
	c.keepClusters(ctx, rows.Clusters, rows.Tombstones)
	c.driveHolders(ctx, rows.Holders)
	c.removeDeleted(ctx, rows.Tombstones, rows.Holders)
	return nil
}

// autolaunch starts the next run of each lane; true when one has started.
func (c *Controller) autolaunch(ctx context.Context, lanes []string) (started bool) {
	for _, lane := range lanes {
		launched, err := c.Store.Launch(ctx, lane)
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("autolaunch incomplete", "err", err)
		}
		started = started || launched
	}
	return started
}

// runtime returns the runtime of that name, or an error for the row's message.
func (c *Controller) runtime(name string) (lab.Runtime, error) {
	if runtime, known := c.Runtimes[name]; known {
		return runtime, nil
	}
	return nil, lab.Unsupported("runtime %q is not available in this pglab; SELECT * FROM lab.runtimes shows which are", name)
}
