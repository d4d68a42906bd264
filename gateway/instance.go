package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// instance is the pglab that runs on a data directory, as its lock file
// names it. The lock, not the file, says that it runs: it ends with the process.
type instance struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Listen  string `json:"listen"`
}

var errNotRunning = errors.New("no pglab runs")

func lockPath(data string) string { return filepath.Join(data, "lock") }

// lockInstance takes the data directory for this process until it ends.
func lockInstance(c config) (*os.File, error) {
	file, err := os.OpenFile(lockPath(c.data), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", c.data, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		other, _ := findInstance(c.data)
		return nil, fmt.Errorf("another pglab (pid %d, listening on %s) runs on %s: use it, stop it with pglab stop, or name another --data",
			other.PID, other.Listen, c.data)
	}
	text, err := json.Marshal(instance{PID: os.Getpid(), Version: version(), Listen: c.listen})
	if err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, text))
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("writing lock of %s: %w", c.data, err)
	}
	return file, nil
}

func writeAt(file *os.File, text []byte) error {
	_, err := file.WriteAt(text, 0)
	return err
}

// findInstance finds the pglab that holds the lock of a data directory.
// errNotRunning when none does.
func findInstance(data string) (instance, error) {
	file, err := os.Open(lockPath(data))
	if errors.Is(err, os.ErrNotExist) {
		return instance{}, fmt.Errorf("%w on %s", errNotRunning, data)
	}
	if err != nil {
		return instance{}, fmt.Errorf("looking at lock of %s: %w", data, err)
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return instance{}, fmt.Errorf("%w on %s", errNotRunning, data)
	}
	var found instance
	if err := json.NewDecoder(file).Decode(&found); err != nil {
		return instance{}, fmt.Errorf("reading lock of %s: %w", data, err)
	}
	return found, nil
}
