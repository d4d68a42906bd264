package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// serverRecord is what is known of a server: its server.json.
type serverRecord struct {
	Spec       lab.ServerSpec    `json:"spec"`
	Bindir     string            `json:"bindir"`
	CreatedAt  time.Time         `json:"created_at"`
	SocketDir  string            `json:"socket_dir"`
	Postmaster postgres.Identity `json:"postmaster,omitzero"` // the last one that was started
	StartedAt  time.Time         `json:"started_at,omitzero"`
	LogStart   int64             `json:"log_start"` // where in its log that one begins
	Group      group             `json:"group,omitzero"`
	// Version is what the server said when we last connected; empty until
	// the first connection succeeded.
	Version string `json:"server_version,omitempty"`
	// Shared is its control file of dynamic shared memory, which a killed
	// server leaves behind.
	Shared  string `json:"shared,omitempty"`
	Stopped string `json:"stopped,omitempty"` // why it ended; empty: it runs, or nobody knows
	// Prepared: it ran once, so that what is wrong now is not what was asked for.
	Prepared bool `json:"prepared,omitempty"`
}

// taskRecord is what is known of a task: its task.json. How its pgbench
// fares is in the shim's status file.
type taskRecord struct {
	Ref       lab.TaskRef       `json:"ref"`
	Client    string            `json:"client"`
	CreatedAt time.Time         `json:"created_at"`
	Shim      postgres.Identity `json:"shim,omitzero"` // zero: it never started
	Group     group             `json:"group,omitzero"`
	OOMKilled bool              `json:"oom_killed,omitempty"`
}

func (r *Runtime) loadServer(ref lab.ServerRef) (serverRecord, error) {
	var record serverRecord
	if err := checkServerRef(ref); err != nil {
		return record, err
	}
	err := loadRecord(filepath.Join(r.serverDir(ref), "server.json"), &record)
	if errors.Is(err, fs.ErrNotExist) {
		return record, lab.NotFound("there is no server %s", ref.Name)
	}
	return record, err
}

func (r *Runtime) saveServer(record serverRecord) error {
	return saveRecord(filepath.Join(r.serverDir(record.Spec.Ref()), "server.json"), record, durable)
}

func (r *Runtime) loadTask(ref lab.TaskRef) (taskRecord, error) {
	var record taskRecord
	if err := checkTaskRef(ref); err != nil {
		return record, err
	}
	err := loadRecord(filepath.Join(r.taskDir(ref), "task.json"), &record)
	if errors.Is(err, fs.ErrNotExist) {
		return record, lab.NotFound("there is no %s task of run %s, attempt %d", ref.Phase, ref.Run, ref.Attempt)
	}
	return record, err
}

func (r *Runtime) saveTask(record taskRecord) error {
	return saveRecord(filepath.Join(r.taskDir(record.Ref), "task.json"), record, passing)
}

func loadRecord(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading record: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading record %s: %w", path, err)
	}
	return nil
}

// A server's record is durable: its data outlive a crash of the host. No task
// does, and the disk is not to be kept waiting right before a benchmark.
const (
	durable = true
	passing = false
)

// saveRecord replaces a record as a whole: there is always a complete one.
func saveRecord(path string, record any, sync bool) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("writing record: %w", err)
	}
	next := path + ".next"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing record: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil && sync {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("writing record: %w", err)
	}
	return nil
}

// create makes an object's directory together with its first record: a
// directory without one is never seen. fill adds what else belongs there.
func create(dir, recordName string, record any, sync bool, fill func(dir string) error) error {
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), newPrefix)
	if err != nil {
		return fmt.Errorf("making directory: %w", err)
	}
	err = os.Chmod(unfinished, passable)
	if err == nil {
		err = fill(unfinished)
	}
	if err == nil {
		err = saveRecord(filepath.Join(unfinished, recordName), record, sync)
	}
	if err == nil {
		err = os.Rename(unfinished, dir)
	}
	if err != nil {
		_ = os.RemoveAll(unfinished)
		return fmt.Errorf("making directory: %w", err)
	}
	return nil
}
