package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A postmaster that is killed leaves shared memory behind. The next one on
// its data directory clears that away; when there is to be no next one,
// ReleaseShared does.

// sharedSegment is the name of a segment of dynamic shared memory.
var sharedSegment = regexp.MustCompile(`/dev/shm/PostgreSQL\.[0-9]+`)

// SharedControl is the file in which a postmaster keeps account of its
// dynamic shared memory; empty when it has none, or keeps it elsewhere.
func (id Identity) SharedControl() string {
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/maps")
	if err != nil {
		return ""
	}
	return string(sharedSegment.Find(maps))
}

// ReleaseShared removes the shared memory that a killed postmaster left, by
// its postmaster.pid and its SharedControl. It does nothing after a clean end,
// which leaves neither.
func ReleaseShared(datadir, control string) error {
	file, err := ReadPidFile(datadir)
	if err != nil {
		return nil // a clean end
	}
	data, err := os.Stat(datadir)
	if err != nil {
		return fmt.Errorf("looking at data directory: %w", err)
	}
	return errors.Join(releaseSystemV(file, ownerOf(data)), releaseDynamic(control))
}

// releaseSystemV removes the segment that guards a data directory, unless
// somebody is attached to it or it is another's: the file that names it is
// the account's to write.
func releaseSystemV(file PidFile, owner uint32) error {
	var segment unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(file.SharedID, unix.IPC_STAT, &segment); err != nil {
		return nil // it is gone
	}
	if segment.Nattch != 0 || int(segment.Cpid) != file.PID || segment.Perm.Uid != owner {
		return nil
	}
	if _, err := unix.SysvShmCtl(file.SharedID, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("removing shared memory: %w", err)
	}
	return nil
}

// Layout of the control file, the same in 9.4 to 18: magic, number of items
// and of places, four bytes each; then the items, which begin with a handle.
const (
	controlMagic  = 0x9a503d32
	controlHeader = 16 // twelve, aligned
	controlItem   = 40
	mostItems     = 1 << 16
)

// releaseDynamic removes the segments that a control file lists, and itself.
func releaseDynamic(control string) error {
	if !sharedSegment.MatchString(control) {
		return nil
	}
	file, err := os.OpenFile(control, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing shared memory: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("removing shared memory: %w", err)
	}
	owner := ownerOf(info)
	header := make([]byte, controlHeader)
	if _, err := io.ReadFull(file, header); err == nil && binary.NativeEndian.Uint32(header) == controlMagic {
		items := make([]byte, controlItem*min(binary.NativeEndian.Uint32(header[4:]), mostItems))
		n, _ := io.ReadFull(file, items) // as far as it goes
		for ; n >= controlItem; n -= controlItem {
			handle := binary.NativeEndian.Uint32(items)
			items = items[controlItem:]
			removeSegment(filepath.Join("/dev/shm", "PostgreSQL."+strconv.FormatUint(uint64(handle), 10)), owner)
		}
	}
	removeSegment(control, owner)
	return nil
}

// removeSegment removes a segment that has the owner of its control file.
func removeSegment(path string, owner uint32) {
	info, err := os.Lstat(path)
	if err == nil && ownerOf(info) == owner {
		_ = os.Remove(path)
	}
}

func ownerOf(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
