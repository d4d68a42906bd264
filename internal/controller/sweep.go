package controller

import (
	"context"
	"time"

	"pglab/internal/lab"
)

const (
	sweepInterval = 30 * time.Second
	// sweepGrace spares objects that are younger: their row may not have been listed yet.
	sweepGrace = time.Minute
)

func (c *Controller) keepSweeping(ctx context.Context) {
	for sleep(ctx, sweepInterval); ctx.Err() == nil; sleep(ctx, sweepInterval) {
		c.sweep(ctx)
	}
}

// sweep removes objects of this lab that no row, tombstone or lane asks for.
// Objects are listed before rows, so that an object made in between has its
// row in the list.
func (c *Controller) sweep(ctx context.Context) {
	for name, runtime := range c.Runtimes {
		objects, err := runtime.List(ctx)
		if err != nil {
			c.Log.Warn("objects not listed", "runtime", name, "err", err)
			continue
		}
		wanted, err := c.wantedObjects(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.Log.Warn("rows not listed, sweep put off", "err", err)
			}
			return
		}
		for _, object := range objects {
			if time.Since(object.Since) > sweepGrace {
				c.sweepObject(ctx, runtime, object, wanted)
			}
		}
	}
}

// wanted holds what rows, tombstones and lanes still ask for.
type wanted struct {
	servers  map[string]bool // by uid
	attempts map[attemptKey]bool
}

type attemptKey struct {
	run     string
	attempt int
}

func (c *Controller) wantedObjects(ctx context.Context) (wanted, error) {
	w := wanted{map[string]bool{}, map[attemptKey]bool{}}
	rows, err := c.Store.Overview(ctx)
	if err != nil {
		return w, err
	}
	for _, cluster := range rows.Clusters {
		w.servers[cluster.UID] = true
	}
	for _, t := range rows.Tombstones {
		w.servers[t.UID] = true
	}
	for _, h := range rows.Holders {
		w.attempts[attemptKey{h.Run, h.Attempt}] = true
	}
	return w, nil
}

func (c *Controller) sweepObject(ctx context.Context, runtime lab.Runtime, object lab.Object, w wanted) {
	var err error
	switch {
	case object.Server != nil && !w.servers[object.Server.UID]:
		c.Log.Warn("removing a server without a row", "cluster", object.Server.Name, "uid", object.Server.UID)
		err = runtime.RemoveServer(ctx, *object.Server)
	case object.Task != nil && !w.attempts[attemptKey{object.Task.Run, object.Task.Attempt}]:
		c.Log.Warn("removing a task without a run", "run", object.Task.Run, "attempt", object.Task.Attempt)
		err = runtime.RemoveTask(ctx, *object.Task)
	}
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("orphan not removed", "err", err)
	}
}
