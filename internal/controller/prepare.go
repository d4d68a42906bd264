package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"pglab/internal/lab"
	"pglab/internal/pgbench"
)

// prepare brings the server to the state from which every measured run
// starts: the data set complete, dead rows gone, dirty buffers written. One
// session does it all: to open one takes as long as the rest together.
func (a *attempt) prepare(ctx context.Context) error {
	if err := a.enter(ctx, lab.RunPreparing); err != nil {
		return err
	}
	conn, err := a.connect(ctx, a.cluster.Name)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := a.ensureDataset(ctx, conn); err != nil {
		return err
	}
	if err := cleanDataset(ctx, conn); err != nil {
		return err
	}
	return a.checkpointLane(ctx, conn)
}

// ensureDataset makes pgbench's tables of the asked scale when the cluster
// does not have them, complete, already.
func (a *attempt) ensureDataset(ctx context.Context, conn *pgx.Conn) error {
	if a.run.Init == "never" {
		return nil
	}
	if a.run.Init == "auto" {
		have, err := a.hasDataset(ctx, conn)
		if err != nil || have {
			return err
		}
	}
	if err := a.Store.ForgetDataset(ctx, a.cluster.UID); err != nil {
		return err
	}
	args := pgbench.Init(a.run)
	a.log.Info("making data set", "scale", a.run.Scale)
	if err := a.runTask(ctx, lab.TaskInit, args, nil); err != nil {
		return err
	}
	task, err := a.runtime.InspectTask(ctx, a.task(lab.TaskInit))
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ANALYZE pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history"); err != nil {
		return fmt.Errorf("analyzing data set: %w", err)
	}
	return a.Store.SaveDataset(ctx, a.cluster.UID,
		lab.Dataset{Scale: a.run.Scale, ClientVersion: task.Client, MadeAt: time.Now()})
}

// hasDataset trusts the record of a complete pgbench -i only as long as the
// tables still look like it: the cluster's users can drop them.
func (a *attempt) hasDataset(ctx context.Context, conn *pgx.Conn) (bool, error) {
	dataset, err := a.Store.Dataset(ctx, a.cluster.UID)
	if errors.Is(err, lab.ErrNotFound) || err == nil && dataset.Scale != a.run.Scale {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if exists, err := hasTables(ctx, conn); err != nil || !exists {
		return false, err
	}
	var branches, tellers int
	err = conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM pgbench_branches), (SELECT count(*) FROM pgbench_tellers)`).
		Scan(&branches, &tellers)
	if err != nil {
		return false, fmt.Errorf("looking at data set: %w", err)
	}
	return branches == a.run.Scale && tellers == 10*a.run.Scale, nil
}

// hasTables reports whether all of pgbench's own tables exist. A script may
// do without them.
func hasTables(ctx context.Context, conn *pgx.Conn) (exists bool, err error) {
	err = conn.QueryRow(ctx,
		`SELECT count(to_regclass(name)) = 4
		   FROM unnest('{pgbench_branches,pgbench_tellers,pgbench_accounts,pgbench_history}'::text[]) AS name`).Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("looking for data set: %w", err)
	}
	return exists, nil
}

// cleanDataset does what pgbench does at its start without -n, plus the
// accounts: runs use -n, so that this work stays out of their window.
func cleanDataset(ctx context.Context, conn *pgx.Conn) error {
	exists, err := hasTables(ctx, conn)
	if err != nil || !exists {
		return err
	}
	for _, sql := range []string{
		"TRUNCATE pgbench_history",
		"VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("cleaning data set: %w", err)
		}
	}
	return nil
}

// checkpointLane writes out the dirty buffers of every server of the lane:
// another server's checkpoint in the middle of this run would disturb it.
func (a *attempt) checkpointLane(ctx context.Context, conn *pgx.Conn) error {
	names, err := a.Store.ClustersInLane(ctx, a.run.Lane)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return checkpoint(ctx, conn, a.cluster.Name) })
	for _, name := range names {
		if name == a.cluster.Name {
			continue
		}
		group.Go(func() error {
			if err := a.checkpointNeighbour(ctx, name); err != nil {
				a.log.Warn("neighbour without checkpoint", "cluster", name, "err", err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (a *attempt) checkpointNeighbour(ctx context.Context, name string) error {
	cluster, err := a.Store.Cluster(ctx, name)
	if err != nil {
		return err
	}
	runtime, err := a.Controller.runtime(cluster.Runtime)
	if err != nil {
		return err
	}
	conn, err := connect(ctx, runtime, lab.ServerRef{Name: cluster.Name, UID: cluster.UID}, cluster.Name)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return checkpoint(ctx, conn, name)
}

func checkpoint(ctx context.Context, conn *pgx.Conn, cluster string) error {
	if _, err := conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("checkpoint on %q: %w", cluster, err)
	}
	return nil
}
