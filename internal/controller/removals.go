package controller

import (
	"context"
	"time"

	"pglab/internal/lab"
)

// removeDeleted takes down what deleted rows left behind. A run's records
// stay until its attempt has let its lane go, a server until no attempt uses it.
func (c *Controller) removeDeleted(ctx context.Context, tombstones []lab.Tombstone, holders []lab.Holder) {
	runs, clusters := map[string]bool{}, map[string]bool{}
	for _, h := range holders {
		runs[h.Run], clusters[h.Cluster] = true, true
	}
	for _, t := range tombstones {
		switch {
		case t.Kind == "run" && !runs[t.Name]:
			c.removers.start(ctx, "run "+t.Name+" "+t.UID, func(ctx context.Context) { c.removeRun(ctx, t) })
		case t.Kind == "cluster" && !clusters[t.Name] && !c.keepers.busy(t.UID):
			c.removers.start(ctx, "cluster "+t.Name+" "+t.UID, func(ctx context.Context) { c.removeCluster(ctx, t) })
		}
	}
}

func (c *Controller) removeRun(ctx context.Context, t lab.Tombstone) {
	if err := c.Store.ForgetRun(ctx, t); err != nil && ctx.Err() == nil {
		c.Log.Warn("run not forgotten", "run", t.Name, "err", err)
	}
	c.Wake()
}

func (c *Controller) removeCluster(ctx context.Context, t lab.Tombstone) {
	c.EndSessions(t.Name)
	runtime, err := c.runtime(t.Runtime)
	if err == nil {
		err = runtime.RemoveServer(ctx, lab.ServerRef{Name: t.Name, UID: t.UID})
	}
	if err == nil {
		err = c.Store.ForgetCluster(ctx, t)
	}
	if err != nil {
		if ctx.Err() == nil {
			c.Log.Warn("cluster not removed", "cluster", t.Name, "err", err)
			if err := c.Store.SetRemovalMessage(ctx, t, err.Error()); err != nil {
				c.Log.Warn("removal not explained", "cluster", t.Name, "err", err)
			}
			sleep(ctx, 2*time.Second)
		}
		return
	}
	c.Log.Info("cluster removed", "cluster", t.Name)
	c.Wake()
}
