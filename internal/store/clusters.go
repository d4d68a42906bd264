package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// LabID returns the id that this lab's objects carry.
func (s *Store) LabID(ctx context.Context) (id string, err error) {
	err = s.pool.QueryRow(ctx, "SELECT id FROM lab_private.lab").Scan(&id)
	if err != nil {
		return "", fmt.Errorf("reading lab id: %w", err)
	}
	return id, nil
}

const clusterColumns = `c.name, c.uid::text, c.runtime, coalesce(c.version, ''), coalesce(c.image, ''), coalesce(c.bindir, ''),
	coalesce(c.cpu, ''), coalesce(c.memory, ''), coalesce(c.storage, ''), coalesce(c.cpuset, ''),
	c.parameters, c.initdb, c.state, coalesce(c.message, ''), coalesce(c.server_version, ''), c.created_at`

func scanCluster(row pgx.CollectableRow) (c lab.Cluster, err error) {
	err = row.Scan(&c.Name, &c.UID, &c.Runtime, &c.Version, &c.Image, &c.Bindir,
		&c.CPU, &c.Memory, &c.Storage, &c.Cpuset,
		&c.Parameters, &c.Initdb, &c.State, &c.Message, &c.ServerVersion, &c.CreatedAt)
	return c, err
}

// Clusters returns every row of lab.clusters.
func (s *Store) Clusters(ctx context.Context) ([]lab.Cluster, error) {
	rows, err := s.pool.Query(ctx, listClusters)
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	clusters, err := pgx.CollectRows(rows, scanCluster)
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return clusters, nil
}

// Cluster returns the row of that name. ErrNotFound when there is none.
func (s *Store) Cluster(ctx context.Context, name string) (lab.Cluster, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+clusterColumns+" FROM lab.clusters c WHERE c.name = $1", name)
	if err != nil {
		return lab.Cluster{}, fmt.Errorf("reading cluster %q: %w", name, err)
	}
	cluster, err := pgx.CollectExactlyOneRow(rows, scanCluster)
	if errors.Is(err, pgx.ErrNoRows) {
		return lab.Cluster{}, lab.NotFound("cluster %q does not exist", name)
	}
	if err != nil {
		return lab.Cluster{}, fmt.Errorf("reading cluster %q: %w", name, err)
	}
	return cluster, nil
}

// SetCluster writes what the controller knows of the cluster with that uid.
// Equal values are not written again: rows change on transitions only. A row
// that is gone is no error.
func (s *Store) SetCluster(ctx context.Context, uid, state, message, version, endpoint string) error {
	_, err := s.exec(ctx,
		`UPDATE lab.clusters c SET state = $2, message = nullif($3, ''),
		        server_version = coalesce(nullif($4, ''), c.server_version), endpoint = coalesce(nullif($5, ''), c.endpoint)
		  WHERE c.uid = $1::text::uuid
		    AND (c.state, c.message, c.server_version, c.endpoint) IS DISTINCT FROM
		        ($2, nullif($3, ''), coalesce(nullif($4, ''), c.server_version), coalesce(nullif($5, ''), c.endpoint))`,
		uid, state, message, version, endpoint)
	if err != nil {
		return fmt.Errorf("writing state of cluster %s: %w", uid, err)
	}
	return nil
}

// ClustersInLane returns the names of ready clusters that runs of the lane
// use or will use.
func (s *Store) ClustersInLane(ctx context.Context, lane string) ([]string, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT c.name FROM lab.clusters c
		  WHERE c.state = 'ready'
		    AND EXISTS (SELECT FROM lab.runs r WHERE r.cluster = c.name AND r.lane = $1)`, lane)
	if err != nil {
		return nil, fmt.Errorf("listing clusters of lane %q: %w", lane, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("listing clusters of lane %q: %w", lane, err)
	}
	return names, nil
}

// Dataset returns what pgbench -i made on the cluster. ErrNotFound when nothing is known to be complete.
func (s *Store) Dataset(ctx context.Context, uid string) (d lab.Dataset, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT d.scale, d.client_version, d.made_at FROM lab_private.datasets d WHERE d.cluster_uid = $1::text::uuid`, uid).
		Scan(&d.Scale, &d.ClientVersion, &d.MadeAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, lab.NotFound("no data set on cluster %s", uid)
	}
	if err != nil {
		return d, fmt.Errorf("reading data set of cluster %s: %w", uid, err)
	}
	return d, nil
}

// SaveDataset records a data set that was made completely.
func (s *Store) SaveDataset(ctx context.Context, uid string, d lab.Dataset) error {
	_, err := s.exec(ctx,
		`INSERT INTO lab_private.datasets (cluster_uid, scale, client_version, made_at) VALUES ($1::text::uuid, $2, $3, $4)
		 ON CONFLICT (cluster_uid) DO UPDATE
		    SET scale = excluded.scale, client_version = excluded.client_version, made_at = excluded.made_at`,
		uid, d.Scale, d.ClientVersion, d.MadeAt)
	if err != nil {
		return fmt.Errorf("recording data set of cluster %s: %w", uid, err)
	}
	return nil
}

// ForgetDataset says that the cluster's data set is being replaced: until
// SaveDataset, nothing there is known to be complete.
func (s *Store) ForgetDataset(ctx context.Context, uid string) error {
	if _, err := s.exec(ctx, `DELETE FROM lab_private.datasets d WHERE d.cluster_uid = $1::text::uuid`, uid); err != nil {
		return fmt.Errorf("forgetting data set of cluster %s: %w", uid, err)
	}
	return nil
}
