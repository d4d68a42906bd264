package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReleaseSharedClearsAfterAKill(t *testing.T) {
	for _, major := range []string{"14", "15", "16", "17", "18"} {
		t.Run(major, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, major)
			child := s.start(t, map[string]string{"min_dynamic_shared_memory": "1MB"})
			if err := child.WaitReady(soon(t), s.datadir); err != nil {
				t.Fatal(err)
			}
			control := child.SharedControl()
			mapped := segmentsOf(t, s.datadir)
			if !slices.Contains(mapped, control) {
				t.Fatalf("%q is not among the segments %v", control, mapped)
			}
			file, err := ReadPidFile(s.datadir)
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-child.Done()
			waitUntilDetached(t, file.SharedID)
			if err := ReleaseShared(s.datadir, control); err != nil {
				t.Fatal(err)
			}
			for _, path := range mapped {
				if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("left behind: %s (%v)", path, err)
				}
			}
			var segment unix.SysvShmDesc
			if _, err := unix.SysvShmCtl(file.SharedID, unix.IPC_STAT, &segment); err == nil {
				t.Error("the System V segment is still there")
			}
		})
	}
}

// waitUntilDetached waits for the backends of a killed postmaster to end.
func waitUntilDetached(t *testing.T, id int) {
	t.Helper()
	ctx := soon(t)
	for ctx.Err() == nil {
		var segment unix.SysvShmDesc
		if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &segment); err != nil || segment.Nattch == 0 {
			return
		}
	}
	t.Fatal("backends outlive their postmaster")
}

// segmentsOf finds the segments that any process of a server has mapped.
func segmentsOf(t *testing.T, datadir string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || !worksIn(pid, datadir) {
			continue
		}
		maps, _ := os.ReadFile(process + "/maps") // it may have ended
		for _, path := range sharedSegment.FindAllString(string(maps), -1) {
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}
