package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Caps on what a server may send before it is ready. A real greeting has one
// or two KiB; only a runaway or a stranger comes near these.
const (
	maxGreetingMessage = 64 << 10
	maxGreeting        = 1 << 20
)

// Greeting is what a server says between the startup message and its first
// ReadyForQuery, ready to be handed on to the client.
type Greeting struct {
	Key CancelKey // the server's own, for SendCancel; zero when it sent none

	messages []byte // verbatim from AuthenticationOk on, BackendKeyData taken out
	keyAt    int    // where BackendKeyData was
}

// WithKey returns the greeting's messages with another cancel key in the
// place of the server's. A server without a key gets none.
func (g Greeting) WithKey(key CancelKey) ([]byte, error) {
	if g.Key.Secret == nil {
		return g.messages, nil
	}
	own, err := (&pgproto3.BackendKeyData{ProcessID: key.PID, SecretKey: key.Secret}).Encode(nil)
	if err != nil {
		return nil, fmt.Errorf("encoding cancel key: %w", err)
	}
	return slices.Concat(g.messages[:g.keyAt], own, g.messages[g.keyAt:]), nil
}

// Login opens a session on the server behind conn and returns when the server
// is ready. secret may be nil for a server that asks for none. Whatever the
// server refuses is an *Error that hands the server's own words on. The
// caller bounds the time by conn's deadline.
func Login(conn net.Conn, startup Startup, secret Secret) (Greeting, error) {
	l := &login{conn: conn, in: bufio.NewReader(conn), secret: secret}
	_, err := conn.Write(startup.appendTo(nil))
	for ready := false; err == nil && !ready; {
		ready, err = l.next()
	}
	if _, reported := errors.AsType[*Error](err); err != nil && !reported {
		err = &Error{
			Code:    pgerrcode.ConnectionFailure,
			Message: "connection to the server was lost before the session began",
			Detail:  "The gateway was " + err.Error() + ".",
			Hint:    "Try again; lab.clusters and the gateway's log say more.",
		}
	}
	return l.greeting, err
}

// login is one session on its way to ReadyForQuery.
type login struct {
	conn     net.Conn
	in       *bufio.Reader
	secret   Secret
	answer   step
	heard    bool // one message at least
	greeting Greeting
}

// next takes one message.
func (l *login) next() (ready bool, err error) {
	header, err := l.in.Peek(5)
	if err != nil {
		return false, fmt.Errorf("reading server's answer: %w", unexpected(err))
	}
	kind, length := header[0], int64(binary.BigEndian.Uint32(header[1:]))
	if kind == 'E' && !l.heard && (length < 8 || length > maxGreetingMessage) {
		return false, l.legacyError()
	}
	l.heard = true
	if length < 4 || length > maxGreetingMessage || int64(len(l.greeting.messages))+length > maxGreeting {
		return false, fmt.Errorf("reading server's answer: message %q claims %d bytes", kind, length)
	}
	message := make([]byte, 1+length)
	if _, err := io.ReadFull(l.in, message); err != nil {
		return false, fmt.Errorf("reading server's answer: %w", unexpected(err))
	}
	return l.take(kind, message)
}

func (l *login) take(kind byte, message []byte) (ready bool, err error) {
	body := message[5:]
	switch kind {
	case 'R':
		if len(body) == 4 && binary.BigEndian.Uint32(body) == pgproto3.AuthTypeOk {
			break
		}
		return false, l.authenticate(body)
	case 'K':
		var key pgproto3.BackendKeyData
		if err := key.Decode(body); err != nil {
			return false, fmt.Errorf("reading server's cancel key: %w", err)
		}
		l.greeting.Key = CancelKey{PID: key.ProcessID, Secret: key.SecretKey}
		l.greeting.keyAt = len(l.greeting.messages)
		return false, nil
	case 'E':
		return false, l.refusal(message)
	case 'S', 'N':
	case 'Z':
		rest, err := l.in.Peek(l.in.Buffered()) // notices on its heels
		l.keep(message)
		l.keep(rest)
		return true, err
	default:
		return false, fmt.Errorf("reading server's answer: unexpected message %q", kind)
	}
	l.keep(message)
	return false, nil
}

func (l *login) keep(message []byte) { l.greeting.messages = append(l.greeting.messages, message...) }

// authenticate answers one authentication request.
func (l *login) authenticate(body []byte) error {
	var offer pgproto3.AuthenticationSASL
	var challenge pgproto3.AuthenticationSASLContinue
	var final pgproto3.AuthenticationSASLFinal
	switch {
	case offer.Decode(body) == nil:
		return l.start(offer.AuthMechanisms)
	case l.answer != nil && challenge.Decode(body) == nil:
		response, err := l.answer(string(challenge.Data))
		if err != nil {
			return mistrusted(err)
		}
		return send(l.conn, &pgproto3.SASLResponse{Data: []byte(response)})
	case l.answer != nil && final.Decode(body) == nil:
		if _, err := l.answer(string(final.Data)); err != nil {
			return mistrusted(err)
		}
		return nil
	}
	return &Error{
		Code:    pgerrcode.InvalidAuthorizationSpecification,
		Message: "the server asks the gateway for an authentication method other than SCRAM-SHA-256",
		Hint:    "Give the role a scram-sha-256 password and let pg_hba.conf of that server ask for scram-sha-256.",
	}
}

func (l *login) start(mechanisms []string) error {
	if l.secret == nil || !slices.Contains(mechanisms, scramSHA256) {
		return &Error{
			Code:    pgerrcode.InvalidAuthorizationSpecification,
			Message: "the server asks for a password that the gateway does not have",
		}
	}
	var err error
	if l.answer, err = l.secret.conversation(); err != nil {
		return err
	}
	first, err := l.answer("")
	if err != nil {
		return mistrusted(err)
	}
	return send(l.conn, &pgproto3.SASLInitialResponse{AuthMechanism: scramSHA256, Data: []byte(first)})
}

// refusal is the server's ErrorResponse, with what it said before.
func (l *login) refusal(message []byte) error {
	var r pgproto3.ErrorResponse
	if err := r.Decode(message[5:]); err != nil {
		return fmt.Errorf("reading server's error: %w", err)
	}
	l.keep(message)
	return &Error{Code: r.Code, Message: r.Message, Detail: r.Detail, Hint: r.Hint, verbatim: l.greeting.messages}
}

// legacyError is a text from a server too troubled to speak the protocol: an
// 'E', then words up to a NUL where a length should be. A postmaster that
// cannot fork says so in this way.
func (l *login) legacyError() error {
	text, err := l.in.ReadSlice(0) // at most the reader's buffer
	if len(text) == 0 {
		return fmt.Errorf("reading server's answer: %w", unexpected(err))
	}
	text = bytes.TrimSpace(bytes.TrimRight(bytes.TrimPrefix(text, []byte("E")), "\x00"))
	return &Error{
		Code:    pgerrcode.ConnectionFailure,
		Message: "the server could not start a session",
		Detail:  "It said: " + string(bytes.ToValidUTF8(text, []byte("?"))),
		Hint:    "Try again in a moment.",
	}
}

func mistrusted(err error) *Error {
	return &Error{
		Code:    pgerrcode.ConnectionFailure,
		Message: "the gateway could not authenticate the server",
		Detail:  err.Error(),
	}
}
