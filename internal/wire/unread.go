package wire

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasUnread reports whether bytes wait in conn's receive buffer, without
// taking any. A connection that is no socket never has any.
func hasUnread(conn net.Conn) (bool, error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false, err
	}
	var n int
	var peekErr error
	err = raw.Control(func(fd uintptr) {
		n, _, peekErr = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	if err != nil {
		return false, err
	}
	if errors.Is(peekErr, unix.EAGAIN) {
		return false, nil
	}
	return n > 0, peekErr
}
