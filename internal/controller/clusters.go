package controller

import (
	"context"
	"fmt"
	"time"

	"pglab/internal/lab"
)

const (
	inspectInterval = 2 * time.Second // between looks at a server that is ready
	ensureAttempts  = 6               // in a row before a cluster that may yet work is given up
)

// keepClusters gives every cluster a keeper, except failed ones (their user
// retries them) and those whose namesake is still being removed.
func (c *Controller) keepClusters(ctx context.Context, clusters []lab.Cluster, tombstones []lab.Tombstone) {
	leaving := map[string]bool{}
	for _, t := range tombstones {
		if t.Kind == "cluster" {
			leaving[t.Name] = true
		}
	}
	wanted := map[string]bool{}
	for _, cluster := range clusters {
		if leaving[cluster.Name] {
			continue
		}
		wanted[cluster.UID] = true
		if cluster.State != lab.ClusterFailed {
			c.keepers.start(ctx, cluster.UID, func(ctx context.Context) { c.keep(ctx, cluster) })
		}
	}
	c.keepers.retain(wanted, errRowGone)
}

// keep makes a cluster's server exist and run, again whenever it stops, until
// the row is gone or the request turns out to be impossible.
func (c *Controller) keep(ctx context.Context, cluster lab.Cluster) {
	log := c.Log.With("cluster", cluster.Name, "runtime", cluster.Runtime)
	var follower logFollower
	failures := 0
	for ctx.Err() == nil {
		server, runtime, err := c.ensure(ctx, cluster)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
			log.Info("cluster ready", "version", server.Version, "endpoint", server.Endpoint)
			c.setCluster(ctx, cluster, lab.ClusterReady, server.Message, server.Version, server.Endpoint)
			c.Wake()
			stopped := c.watch(ctx, runtime, server, &follower)
			if ctx.Err() != nil {
				return
			}
			log.Warn("cluster stopped", "reason", stopped)
			c.setCluster(ctx, cluster, lab.ClusterCreating, "starting again: "+stopped, "", "")
		case lab.Permanent(err) || failures+1 >= ensureAttempts:
			log.Warn("cluster failed", "err", err)
			c.setCluster(ctx, cluster, lab.ClusterFailed, err.Error(), "", "")
			c.Wake()
			return
		default:
			failures++
			pause := time.Duration(1<<failures) * time.Second / 2
			log.Warn("cluster not ready", "err", err, "again_in", pause)
			c.setCluster(ctx, cluster, lab.ClusterCreating, fmt.Sprintf("%v; trying again in %v", err, pause), "", "")
			sleep(ctx, pause)
		}
	}
}

// ensure brings the cluster's server up, telling its progress in the row.
func (c *Controller) ensure(ctx context.Context, cluster lab.Cluster) (lab.Server, lab.Runtime, error) {
	runtime, err := c.runtime(cluster.Runtime)
	if err != nil {
		return lab.Server{}, nil, err
	}
	spec, err := cluster.Spec(c.LabID)
	if err != nil {
		return lab.Server{}, nil, err
	}
	server, err := runtime.InspectServer(ctx, spec.Ref())
	if err == nil && server.Phase == lab.ServerReady {
		// A server that outlived the last controller: EnsureServer says so, too,
		// but the row need not pass through creating for it.
		server, err = runtime.EnsureServer(ctx, spec, func(string) {})
		return server, runtime, err
	}
	say := func(message string) {
		c.setCluster(ctx, cluster, lab.ClusterCreating, message, "", "")
	}
	say("making the server")
	server, err = runtime.EnsureServer(ctx, spec, say)
	return server, runtime, err
}

// watch returns, with the reason, when a server has stopped or was replaced.
// Meanwhile it copies the server's log.
func (c *Controller) watch(ctx context.Context, runtime lab.Runtime, server lab.Server, follower *logFollower) (reason string) {
	for {
		if err := follower.copyServerLog(ctx, c.Store, runtime, server.Ref); err != nil && ctx.Err() == nil {
			c.Log.Debug("server log not copied", "cluster", server.Ref.Name, "err", err)
		}
		select {
		case <-ctx.Done():
			return ""
		case <-woken(ctx):
		case <-time.After(inspectInterval):
		}
		now, err := runtime.InspectServer(ctx, server.Ref)
		switch {
		case err != nil && ctx.Err() == nil:
			return err.Error()
		case err == nil && now.Phase == lab.ServerStopped:
			return now.Message
		}
	}
}

func (c *Controller) setCluster(ctx context.Context, cluster lab.Cluster, state, message, version, endpoint string) {
	if err := c.Store.SetCluster(ctx, cluster.UID, state, message, version, endpoint); err != nil && ctx.Err() == nil {
		c.Log.Warn("cluster state not recorded", "cluster", cluster.Name, "state", state, "err", err)
	}
}

// sleep waits, less when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
