package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// Overview is what the lab's rows ask for.
type Overview struct {
	Clusters   []lab.Cluster
	Tombstones []lab.Tombstone // of deleted rows whose objects are still to be removed
	Holders    []lab.Holder    // the attempts that hold a lane
	Waiting    []string        // free lanes that launch by themselves and have something queued
}

const (
	listClusters = "SELECT " + clusterColumns + " FROM lab.clusters c ORDER BY c.created_at, c.name"

	listTombstones = `SELECT t.kind, t.name, t.uid, coalesce(t.spec->>'runtime', ''), t.deleted_at FROM lab_private.tombstones t ORDER BY t.deleted_at`

	listHolders = `SELECT h.lane, h.run, h.attempt, h.cluster, coalesce(a.cluster_uid::text, ''), coalesce(a.runtime, ''), h.since, coalesce(r.state, '')
		  FROM lab_private.lane_holders h
		  LEFT JOIN lab_private.attempts a ON a.run = h.run AND a.attempt = h.attempt
		  LEFT JOIN lab.runs r ON r.run = h.run AND r.attempt = h.attempt`

	listWaiting = `SELECT l.lane FROM lab.lanes l
		 WHERE l.autolaunch
		   AND NOT EXISTS (SELECT FROM lab_private.lane_holders h WHERE h.lane = l.lane)
		   AND EXISTS (SELECT FROM lab.runs r WHERE r.lane = l.lane AND r.state = 'queued')`
)

// Overview reads what the rows ask for, in one round trip: it is asked for
// every second, beside benchmarks too, and to wake the engine costs more than
// the queries do.
func (s *Store) Overview(ctx context.Context) (o Overview, err error) {
	batch := &pgx.Batch{}
	batch.Queue(listClusters).Query(func(rows pgx.Rows) (err error) {
		o.Clusters, err = pgx.CollectRows(rows, scanCluster)
		return err
	})
	batch.Queue(listTombstones).Query(func(rows pgx.Rows) (err error) {
		o.Tombstones, err = pgx.CollectRows(rows, scanTombstone)
		return err
	})
	batch.Queue(listHolders).Query(func(rows pgx.Rows) (err error) {
		o.Holders, err = pgx.CollectRows(rows, scanHolder)
		return err
	})
	batch.Queue(listWaiting).Query(func(rows pgx.Rows) (err error) {
		o.Waiting, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return Overview{}, fmt.Errorf("listing what the lab's rows ask for: %w", err)
	}
	return o, nil
}

func scanTombstone(row pgx.CollectableRow) (t lab.Tombstone, err error) {
	err = row.Scan(&t.Kind, &t.Name, &t.UID, &t.Runtime, &t.Since)
	return t, err
}

func scanHolder(row pgx.CollectableRow) (h lab.Holder, err error) {
	err = row.Scan(&h.Lane, &h.Run, &h.Attempt, &h.Cluster, &h.ClusterUID, &h.Runtime, &h.Since, &h.State)
	return h, err
}
