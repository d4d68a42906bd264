package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

// SetRemovalMessage says in lab.removals why an object is still there.
func (s *Store) SetRemovalMessage(ctx context.Context, t lab.Tombstone, message string) error {
	_, err := s.exec(ctx,
		`UPDATE lab_private.tombstones t SET message = $4
		  WHERE t.kind = $1 AND t.name = $2 AND t.uid = $3 AND t.message IS DISTINCT FROM $4`,
		t.Kind, t.Name, t.UID, message)
	if err != nil {
		return fmt.Errorf("writing removal of %s %q: %w", t.Kind, t.Name, err)
	}
	return nil
}

// ForgetCluster drops a removed cluster's tombstone, logs and data set.
func (s *Store) ForgetCluster(ctx context.Context, t lab.Tombstone) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`DELETE FROM lab.logs l WHERE l.object = 'cluster ' || $1 AND l.uid = $2`,
			`DELETE FROM lab_private.log_positions p WHERE $1::text IS NOT NULL AND p.cluster_uid = $2::text::uuid`,
			`DELETE FROM lab_private.datasets d WHERE $1::text IS NOT NULL AND d.cluster_uid = $2::text::uuid`,
			`DELETE FROM lab_private.tombstones t WHERE t.kind = 'cluster' AND t.name = $1 AND t.uid = $2`,
		} {
			if _, err := tx.Exec(ctx, sql, t.Name, t.UID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forgetting cluster %q: %w", t.Name, err)
	}
	return nil
}

// ForgetRun drops everything that was recorded for a deleted run, and its
// tombstone. A run of the same name is not launched before: what is recorded
// under the name is the deleted run's.
func (s *Store) ForgetRun(ctx context.Context, t lab.Tombstone) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`DELETE FROM lab.usage u WHERE u.run = $1`,
			`DELETE FROM lab.progress p WHERE p.run = $1`,
			`DELETE FROM lab.logs l WHERE l.object = 'run ' || $1`,
			`DELETE FROM lab_private.attempts a WHERE a.run = $1`,
			`DELETE FROM lab_private.tombstones t WHERE t.kind = 'run' AND t.name = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, t.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forgetting run %q: %w", t.Name, err)
	}
	return nil
}
