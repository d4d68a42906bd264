package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// AdminLogin is the login that a new lab comes with.
const AdminLogin = "lab"

// EnsureAdminLogin makes the role lab, a member of lab_admin with a random
// password, and keeps the password in a libpq password file for port at
// path (0600). A second start keeps both; a lost file means a new password.
func EnsureAdminLogin(ctx context.Context, url, path string, port string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to engine: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1)", AdminLogin).Scan(&exists)
	if err != nil {
		return fmt.Errorf("looking for login %s: %w", AdminLogin, err)
	}
	password, err := readPassword(path)
	if err != nil {
		return err
	}
	if !exists || password == "" {
		password = rand.Text()
		if err := setPassword(ctx, conn, exists, password); err != nil {
			return err
		}
	}
	return writePassword(path, port, password)
}

// setPassword makes the login as any admin makes one, so that admins may
// change it like any other.
func setPassword(ctx context.Context, conn *pgx.Conn, exists bool, password string) error {
	statement := "INSERT INTO lab.roles (role, kind, password) VALUES ($1, 'admin', $2)"
	if exists {
		statement = "UPDATE lab.roles SET password = $2 WHERE role = $1"
	}
	if _, err := conn.Exec(ctx, statement, AdminLogin, password); err != nil {
		return fmt.Errorf("setting password of login %s: %w", AdminLogin, err)
	}
	return nil
}

func readPassword(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading password file: %w", err)
	}
	fields := strings.Split(strings.TrimSpace(string(text)), ":")
	return fields[len(fields)-1], nil
}

func writePassword(path, port, password string) error {
	line := fmt.Sprintf("*:%s:*:%s:%s\n", port, AdminLogin, password)
	if text, err := os.ReadFile(path); err == nil && string(text) == line {
		return nil
	}
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, []byte(line), 0o600); err != nil {
		return fmt.Errorf("writing password file: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("writing password file: %w", err)
	}
	return nil
}
