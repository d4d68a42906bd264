package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

// Authenticate runs the server's side of SCRAM-SHA-256. On success the client
// has the server's signature and waits for AuthenticationOk, which comes with
// the greeting of the server behind. The keys returned let the gateway log in
// elsewhere as the same role.
//
// A wrong password is an *Error 28P01, the same for an unknown user with a MockVerifier.
func Authenticate(conn io.ReadWriter, user string, verifier Verifier) (*Keys, error) {
	if err := send(conn, &pgproto3.AuthenticationSASL{AuthMechanisms: []string{scramSHA256}}); err != nil {
		return nil, err
	}
	body, err := readAuthMessage(conn)
	if err != nil {
		return nil, err
	}
	clientFirst, err := parseInitialResponse(body)
	if err != nil {
		return nil, err
	}
	login, err := newConversation(verifier)
	if err != nil {
		return nil, err
	}
	serverFirst, err := login.Step(clientFirst)
	if err != nil {
		return nil, malformedSCRAM(err)
	}
	if login.AuthzID() != "" {
		return nil, &Error{
			Code:    pgerrcode.FeatureNotSupported,
			Message: "client uses authorization identity, but it is not supported",
		}
	}
	if err := send(conn, &pgproto3.AuthenticationSASLContinue{Data: []byte(serverFirst)}); err != nil {
		return nil, err
	}

	clientFinal, err := readAuthMessage(conn)
	if err != nil {
		return nil, err
	}
	serverFinal, err := login.Step(string(clientFinal))
	if serverFinal == scram.ErrInvalidProof {
		return nil, WrongPassword(user)
	}
	if err != nil {
		return nil, malformedSCRAM(err)
	}
	keys, err := recoverKeys(verifier, clientFirst, serverFirst, string(clientFinal))
	if err != nil {
		return nil, err
	}
	return keys, send(conn, &pgproto3.AuthenticationSASLFinal{Data: []byte(serverFinal)})
}

// WrongPassword is the answer to every login that fails for its user or password.
func WrongPassword(user string) *Error {
	return &Error{
		Code:    pgerrcode.InvalidPassword,
		Message: fmt.Sprintf("password authentication failed for user %q", user),
	}
}

// newConversation starts the library's server side. The name inside the SCRAM
// messages is ignored, as Postgres ignores it: libpq leaves it empty, the
// startup message has the real one.
func newConversation(v Verifier) (*scram.ServerConversation, error) {
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) {
		return scram.StoredCredentials{
			KeyFactors: scram.KeyFactors{Salt: v.salt, Iters: v.iterations},
			StoredKey:  v.storedKey,
			ServerKey:  v.serverKey,
		}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("starting SCRAM exchange: %w", err)
	}
	return server.NewConversation(), nil
}

// parseInitialResponse takes the client's first SCRAM message out of a
// SASLInitialResponse. pgproto3's decoder does not compare the length inside
// with the length of the message.
func parseInitialResponse(body []byte) (string, error) {
	mechanism, rest, ok := bytes.Cut(body, []byte{0})
	if !ok || len(rest) < 4 || int64(binary.BigEndian.Uint32(rest)) != int64(len(rest)-4) {
		return "", malformed("malformed SASL initial response")
	}
	if string(mechanism) != scramSHA256 {
		return "", malformed("client selected an invalid SASL authentication mechanism")
	}
	return string(rest[4:]), nil
}

func malformedSCRAM(err error) *Error {
	e := malformed("malformed SCRAM message")
	e.Detail = err.Error()
	return e
}
