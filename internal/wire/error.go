package wire

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Error is what a client reads when its session is refused or ended: a FATAL
// message in Postgres's style (lower case, no full stop; Detail and Hint are
// sentences).
type Error struct {
	Code    string // SQLSTATE
	Message string
	Detail  string
	Hint    string

	verbatim []byte // a server's own messages, handed on instead of the fields
}

// Error shows the message and its SQLSTATE.
func (e *Error) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code) }

// SQLState is the error's five-letter code.
func (e *Error) SQLState() string { return e.Code }

// WriteTo writes the error as an ErrorResponse. An error that a server
// reported during Login is written as the server wrote it, along with what
// came before it.
func (e *Error) WriteTo(w io.Writer) (int64, error) {
	message := e.verbatim
	if message == nil {
		var err error
		if message, err = e.response().Encode(nil); err != nil {
			return 0, fmt.Errorf("encoding error for client: %w", err)
		}
	}
	n, err := w.Write(message)
	if err != nil {
		return int64(n), fmt.Errorf("sending error to client: %w", err)
	}
	return int64(n), nil
}

func (e *Error) response() *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL",
		Code: e.Code, Message: e.Message, Detail: e.Detail, Hint: e.Hint,
	}
}

// malformed is the error for a client that does not keep to the protocol.
func malformed(format string, args ...any) *Error {
	return &Error{Code: pgerrcode.ProtocolViolation, Message: fmt.Sprintf(format, args...)}
}

// Bounds of the farewell to a client that was refused.
const (
	farewellTime  = time.Second
	farewellBytes = 64 << 10
)

// Refuse tells the client why and closes the connection. Closing a socket
// that holds unread bytes resets it, and the reset overtakes the message, so
// what the client is still sending is read and dropped for a moment.
func Refuse(conn net.Conn, reason *Error) error {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(farewellTime)); err != nil {
		return fmt.Errorf("refusing client: %w", err)
	}
	if _, err := reason.WriteTo(conn); err != nil {
		return err
	}
	if err := CloseWrite(conn); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, conn, farewellBytes)
	if err != nil && err != io.EOF {
		return fmt.Errorf("waiting for refused client to close: %w", err)
	}
	return nil
}

// CloseWrite ends the sending half of a socket or TLS session and leaves the
// other half open. Another kind of connection is left as it is.
func CloseWrite(conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := half.CloseWrite(); err != nil {
		return fmt.Errorf("closing sending half: %w", err)
	}
	return nil
}
