package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"pglab/sql"
)

// schemaLock is the advisory lock under which one pglab at a time brings a
// schema up to date.
const schemaLock = 5454_0001

// EnsureDatabase makes the database of the control room. url is of any other
// database of the engine.
func EnsureDatabase(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to engine: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)", Database).Scan(&exists)
	if err != nil {
		return fmt.Errorf("looking for database %s: %w", Database, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{Database}.Sanitize()); err != nil {
		return fmt.Errorf("making database %s: %w", Database, err)
	}
	return nil
}

// Apply brings schema lab up to date in the database at url, as a superuser:
// all files that are new or, other than migrations, have changed, in one
// transaction. A migration that was applied in another form, or that this
// pglab does not know, is refused: an older pglab must not work on it.
func Apply(ctx context.Context, url string, log *slog.Logger) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("reading engine address: %w", err)
	}
	config.RuntimeParams["search_path"] = "" // files name the schema of whatever they touch
	config.RuntimeParams["client_min_messages"] = "warning"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connecting to engine: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which lets go of the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", schemaLock); err != nil {
		return fmt.Errorf("locking schema: %w", err)
	}
	applied, err := appliedFiles(ctx, conn)
	if err != nil {
		return err
	}
	pending, err := pendingFiles(sql.Files(), applied)
	if err != nil || len(pending) == 0 {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return applyFiles(ctx, tx, pending) })
	if err != nil {
		return fmt.Errorf("applying schema: %w", err)
	}
	log.Info("schema up to date", "files_applied", len(pending))
	return nil
}

// appliedFiles maps names of applied files to their checksums. Empty on a
// database without the schema.
func appliedFiles(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('lab_private.schema_files') IS NOT NULL").Scan(&exists); err != nil {
		return nil, fmt.Errorf("looking for schema: %w", err)
	}
	applied := map[string]string{}
	if !exists {
		return applied, nil
	}
	rows, err := conn.Query(ctx, "SELECT f.name, f.sha256 FROM lab_private.schema_files f")
	if err != nil {
		return nil, fmt.Errorf("reading state of schema: %w", err)
	}
	var name, sum string
	_, err = pgx.ForEachRow(rows, []any{&name, &sum}, func() error {
		applied[name] = sum
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading state of schema: %w", err)
	}
	return applied, nil
}

// pendingFiles are the migrations that are new and, once anything at all is
// pending, every repeatable file: a migration may have dropped the views in
// its way.
func pendingFiles(files []sql.File, applied map[string]string) (pending []sql.File, err error) {
	known, changed := map[string]bool{}, false
	for _, file := range files {
		known[file.Name] = true
		sum, done := applied[file.Name]
		if done && sum != file.SHA256 && file.Kind == sql.Migration {
			return nil, fmt.Errorf("migration %s was applied in another form than this pglab has: use the pglab that applied it", file.Name)
		}
		changed = changed || !done || sum != file.SHA256
		if !done || file.Kind == sql.Repeatable {
			pending = append(pending, file)
		}
	}
	for name := range applied {
		if strings.HasPrefix(name, "migrations/") && !known[name] {
			return nil, fmt.Errorf("the schema has migration %s, which this pglab does not know: use a newer pglab", name)
		}
	}
	if !changed {
		return nil, nil
	}
	return pending, nil
}

func applyFiles(ctx context.Context, tx pgx.Tx, files []sql.File) error {
	for _, file := range files {
		// The simple protocol takes a file of many statements.
		if _, err := tx.Conn().PgConn().Exec(ctx, file.Text).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	for _, file := range files {
		_, err := tx.Exec(ctx,
			`INSERT INTO lab_private.schema_files (name, sha256, applied_at) VALUES ($1, $2, clock_timestamp())
			 ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, applied_at = excluded.applied_at`, file.Name, file.SHA256)
		if err != nil {
			return fmt.Errorf("recording %s: %w", file.Name, err)
		}
	}
	return nil
}
