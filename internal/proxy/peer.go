package proxy

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// trusted reports whether the client is a process of the gateway's own OS
// user or of root, as the kernel knows it from the unix socket. On TCP nobody is.
func trusted(conn net.Conn) bool {
	socket, local := conn.(*net.UnixConn)
	if !local {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	err = raw.Control(func(fd uintptr) {
		peer, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || peer == nil {
		return false
	}
	return peer.Uid == 0 || int(peer.Uid) == os.Geteuid()
}

// isReset reports whether err says that the other side is gone.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
