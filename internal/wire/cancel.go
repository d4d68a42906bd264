package wire

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of a cancel key's secret, in bytes. Protocol 3.0 has four.
const (
	minSecret = 4
	maxSecret = 256
	longKey   = 32
)

// CancelKey names a session to those who may interrupt it.
type CancelKey struct {
	PID    uint32
	Secret []byte
}

// NewCancelKey makes a key with a random secret, as long as the client's version allows.
func NewCancelKey(pid uint32, version Version) CancelKey {
	secret := make([]byte, minSecret)
	if version >= Version32 {
		secret = make([]byte, longKey)
	}
	rand.Read(secret) // never fails: the program ends before it would
	return CancelKey{PID: pid, Secret: secret}
}

// Equal compares in time that tells nothing about the secret.
func (k CancelKey) Equal(other CancelKey) bool {
	return k.PID == other.PID && subtle.ConstantTimeCompare(k.Secret, other.Secret) == 1
}

// SendCancel asks the server behind conn to interrupt the session of that
// key, and returns once the server has closed the connection: it does so
// after it has passed the signal on, so that a later statement is safe.
func SendCancel(conn net.Conn, key CancelKey) error {
	if err := send(conn, &pgproto3.CancelRequest{ProcessID: key.PID, SecretKey: key.Secret}); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, conn, 1); err != io.EOF {
		return fmt.Errorf("waiting for server to take cancel request: %w", err)
	}
	return nil
}
