package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgerrcode"

	"pglab/internal/wire"
)

// serve is the life of one connection, from accept to close.
func (s *Server) serve(conn net.Conn) {
	id := s.lastID.Add(1)
	log := s.Log.With("session", id, "remote", remote(conn))
	defer conn.Close()
	defer recovered(log)

	conn.SetDeadline(time.Now().Add(s.LoginTimeout))
	leave := s.pending.add(conn)
	defer leave()

	config := s.TLS
	if _, local := conn.(*net.UnixConn); local {
		config = nil // what would it hide, and from whom
	}
	opening, err := wire.ReadOpening(conn, config)
	switch {
	case err != nil:
		s.refuse(log, id, opening.Conn, err)
	case opening.Cancel != nil:
		s.deliver(log, *opening.Cancel)
		opening.Conn.Close()
	default:
		log = log.With("user", opening.Startup.User(), "database", opening.Startup.Database())
		client := &session{
			server: s, id: id, log: log,
			client:   opening.Conn,
			startup:  opening.Startup,
			database: opening.Startup.Database(),
		}
		if err := client.login(trusted(conn)); err != nil {
			s.refuse(log, id, opening.Conn, err)
			return
		}
		defer s.sessions.remove(client)
		leave()
		conn.SetDeadline(time.Time{})
		client.run()
	}
}

// refuse ends a connection that did not become a session, with a word when
// the other side is there to read it, and logs it once.
func (s *Server) refuse(log *slog.Logger, id uint64, conn net.Conn, err error) {
	reason, worded := errors.AsType[*wire.Error](err)
	if !worded && s.isDraining() {
		reason, worded = shuttingDown(), true
	}
	switch {
	case worded:
		log.Info("client refused", "code", reason.Code, "err", reason, "detail", reason.Detail)
		if err := wire.Refuse(conn, reason); err != nil {
			log.Debug("refused client did not listen", "err", err)
		}
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isReset(err):
		log.Debug("client left before its login was complete", "err", err)
	default:
		log.Info("client dropped", "err", err)
	}
}

// internalError hides from the client what only the log is to say.
func internalError(id uint64) *wire.Error {
	return &wire.Error{
		Code:    pgerrcode.InternalError,
		Message: "the gateway ran into an error",
		Hint:    fmt.Sprintf("The gateway's log has the reason under session %d.", id),
	}
}

// recovered keeps a panic inside its connection.
func recovered(log *slog.Logger) {
	if p := recover(); p != nil {
		log.Error("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// remote names the client's end: a unix socket has no address.
func remote(conn net.Conn) string {
	if _, local := conn.(*net.UnixConn); local {
		return "[local]"
	}
	return conn.RemoteAddr().String()
}

// timedOut reports whether err is a deadline, of a connection or of a context.
func timedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
