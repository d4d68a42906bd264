package controller

import (
	"context"
	"time"
)

const probeInterval = time.Minute

// probe writes into lab.runtimes what works on this host.
func (c *Controller) probe(ctx context.Context) {
	for name, runtime := range c.Runtimes {
		if err := c.Store.SaveRuntime(ctx, name, runtime.Probe(ctx)); err != nil && ctx.Err() == nil {
			c.Log.Warn("runtime not recorded", "runtime", name, "err", err)
		}
	}
}

// keepProbing probes now and then, never beside a benchmark: a probe starts
// programs.
func (c *Controller) keepProbing(ctx context.Context) {
	for sleep(ctx, probeInterval); ctx.Err() == nil; sleep(ctx, probeInterval) {
		if c.drivers.idle() {
			c.probe(ctx)
		}
	}
}
