package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// List implements lab.Runtime.
func (r *Runtime) List(context.Context) ([]lab.Object, error) {
	var objects []lab.Object
	err := eachObject(r.serversDir(), func(dir string, info fs.FileInfo) {
		var record serverRecord
		if err := loadRecord(filepath.Join(dir, "server.json"), &record); err != nil {
			r.Log.Warn("unreadable record of a server", "dir", dir, "err", err)
			return
		}
		ref := record.Spec.Ref()
		objects = append(objects, lab.Object{Server: &ref, Since: record.CreatedAt})
	})
	if err != nil {
		return nil, err
	}
	err = eachObject(r.tasksDir(), func(dir string, info fs.FileInfo) {
		ref, ok := parseTaskName(info.Name())
		if ok {
			objects = append(objects, lab.Object{Task: &ref, Since: info.ModTime()})
		}
	})
	return objects, err
}

func eachObject(dir string, visit func(path string, info fs.FileInfo)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing objects: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && !strings.HasPrefix(entry.Name(), ".") {
			visit(filepath.Join(dir, entry.Name()), info)
		}
	}
	return nil
}

// parseTaskName reads RUN-ATTEMPT-PHASE from its end: a run's name may have
// dashes, too.
func parseTaskName(name string) (lab.TaskRef, bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return lab.TaskRef{}, false
	}
	rest, phase := name[:at], name[at+1:]
	if at = strings.LastIndexByte(rest, '-'); at < 0 {
		return lab.TaskRef{}, false
	}
	attempt, err := strconv.Atoi(rest[at+1:])
	return lab.TaskRef{Run: rest[:at], Attempt: attempt, Phase: phase}, err == nil
}

// Watch implements lab.Runtime.
func (r *Runtime) Watch(ctx context.Context) <-chan struct{} {
	hints := make(chan struct{}, 1)
	changed, leave := r.changed.listen()
	go func() {
		defer close(hints)
		defer leave()
		ended := make(chan postgres.Identity)
		waiting := make(map[postgres.Identity]bool)
		for {
			for _, postmaster := range r.postmasters() {
				if waiting[postmaster] {
					continue
				}
				waiting[postmaster] = true
				go func() {
					_ = postmaster.Wait(ctx) // ctx's end is the loop's, too
					ended <- postmaster
				}()
			}
			select {
			case <-changed:
			case postmaster := <-ended:
				delete(waiting, postmaster)
			case <-ctx.Done():
				for range waiting {
					<-ended
				}
				return
			}
			hint(hints)
		}
	}()
	return hints
}

// postmasters are those that run now.
func (r *Runtime) postmasters() []postgres.Identity {
	var running []postgres.Identity
	_ = eachObject(r.serversDir(), func(dir string, _ fs.FileInfo) { // hints may be missed
		var record serverRecord
		if loadRecord(filepath.Join(dir, "server.json"), &record) == nil && record.Postmaster.Alive() {
			running = append(running, record.Postmaster)
		}
	})
	return running
}

// ServerLog implements lab.Runtime.
func (r *Runtime) ServerLog(_ context.Context, ref lab.ServerRef, offset int64) (io.ReadCloser, error) {
	record, err := r.loadServer(ref)
	if err != nil {
		return nil, err
	}
	return openAt(r.logFile(record), offset)
}

// openAt opens a log for reading from an offset; one that was not begun is empty.
func openAt(path string, offset int64) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("reading log from %d: %w", offset, err)
	}
	return file, nil
}
