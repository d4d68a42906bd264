package task

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Status is what `pglab task` tells of its program, while it runs and after.
type Status struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs
	ExitCode  int       `json:"exit_code"`         // valid once it ended without Signal
	Signal    string    `json:"signal,omitempty"`  // "killed", ...
	SignalNo  int       `json:"signal_number,omitempty"`
	Error     string    `json:"error,omitempty"` // why it could not be started
}

// Ended reports whether the program has ended, or never started.
func (s Status) Ended() bool { return !s.EndedAt.IsZero() }

func (s *Status) describe(wait syscall.WaitStatus) {
	if wait.Signaled() {
		s.Signal, s.SignalNo = wait.Signal().String(), int(wait.Signal())
		return
	}
	s.ExitCode = wait.ExitStatus()
}

func (s Status) code() int {
	if s.SignalNo != 0 {
		const bySignal = 128
		return bySignal + s.SignalNo
	}
	return s.ExitCode
}

// statusSize is what a status file is padded to.
const statusSize = 4096

// ReadStatus reads the status file of a task. fs.ErrNotExist before its
// program was started.
func ReadStatus(path string) (Status, error) {
	// The directory belongs to the workload's OS user: no link is followed,
	// nothing blocks, nothing large is read.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Status{}, fmt.Errorf("reading status of task: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, statusSize))
	if err != nil {
		return Status{}, fmt.Errorf("reading status of task: %w", err)
	}
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
		return Status{}, fmt.Errorf("reading status of task: %w", err)
	}
	return status, nil
}

// statusFile writes a status at the start and at the end. Room for the second is
// taken at the start: a disk that fills up meanwhile costs no result.
type statusFile struct {
	path string // empty: no file is wanted
	next *os.File
}

func createStatusFile(path string) (*statusFile, error) {
	if path == "" {
		return &statusFile{}, nil
	}
	file := &statusFile{path: path}
	next, err := file.allocate(file.endName())
	if err != nil {
		return nil, err
	}
	file.next = next
	return file, nil
}

func (f *statusFile) beginName() string { return f.path + ".begin" }
func (f *statusFile) endName() string   { return f.path + ".end" }

func (f *statusFile) allocate(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o640)
	if err != nil {
		return nil, fmt.Errorf("making status file: %w", err)
	}
	if _, err := file.Write(pad(nil)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("making status file: %w", err)
	}
	return file, nil
}

// begin says that the program runs.
func (f *statusFile) begin(status Status) error {
	if f.path == "" {
		return nil
	}
	file, err := f.allocate(f.beginName())
	if err != nil {
		return err
	}
	return f.publish(file, f.beginName(), status)
}

// end says how the program ended.
func (f *statusFile) end(status Status) error {
	if f.path == "" {
		return nil
	}
	next := f.next
	f.next = nil
	return f.publish(next, f.endName(), status)
}

// publish overwrites an allocated file in place and renames it.
func (f *statusFile) publish(file *os.File, name string, status Status) error {
	text, err := json.Marshal(status)
	if err == nil {
		_, err = file.WriteAt(pad(text), 0)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(name, f.path)
	}
	if err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	return nil
}

// discard drops the room that was not needed.
func (f *statusFile) discard() {
	if f.next != nil {
		_ = f.next.Close()
		_ = os.Remove(f.endName())
	}
}

// pad fills text up to statusSize with blanks, which JSON ignores.
func pad(text []byte) []byte {
	padded := make([]byte, statusSize)
	for i := copy(padded, text); i < statusSize; i++ {
		padded[i] = ' '
	}
	return padded
}
