package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// file is a kernel file that stays open: reading it again from its start is
// six times cheaper than opening it again. The bare descriptor keeps it out
// of the runtime's poller, which such files would wake for nothing.
type file struct {
	fd int
}

func openFile(path string) (file, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return file{}, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return file{fd: fd}, nil
	}
}

func (f file) close() { _ = syscall.Close(f.fd) }

// buffer is reused from reading to reading and grows to the largest file.
type buffer []byte

// read returns the whole of a file. The bytes live until the next read.
func (b *buffer) read(f file) ([]byte, error) {
	if *b == nil {
		*b = make([]byte, 8192)
	}
	for {
		n, err := pread(f.fd, *b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return nil, err
		case n < len(*b):
			return (*b)[:n], nil
		case n > 1<<20:
			return nil, fmt.Errorf("more than 1 MiB in one counter file: %w", io.ErrShortBuffer)
		default:
			*b = make([]byte, 2*len(*b))
		}
	}
}

// pread reads a file from its beginning. It does not tell the Go scheduler,
// which would wake a thread of its own to watch for a call that hangs: these
// files are made up by the kernel on the spot, and that thread's waking costs
// more than the reading.
func pread(fd int, into []byte) (n int, err error) {
	got, _, errno := syscall.RawSyscall6(syscall.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(got), nil
}
