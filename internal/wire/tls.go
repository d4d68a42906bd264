package wire

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
)

// alpn is Postgres's name in TLS's protocol negotiation; a client that starts
// TLS without a request must offer it.
const alpn = "postgresql"

// ServerTLS is the configuration to show clients that certificate.
func ServerTLS(certificate tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{alpn},
	}
}

// RequestTLS asks the server behind conn for TLS and shakes hands. The server
// is authenticated as config says. For the Dial of a Target whose server
// lies across a network.
func RequestTLS(conn net.Conn, config *tls.Config) (net.Conn, error) {
	if err := send(conn, &pgproto3.SSLRequest{}); err != nil {
		return nil, err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return nil, fmt.Errorf("reading server's answer to SSLRequest: %w", err)
	}
	if answer[0] != 'S' {
		return nil, fmt.Errorf("requesting TLS: the server does not offer it")
	}
	session := tls.Client(conn, config)
	if err := session.Handshake(); err != nil {
		return nil, fmt.Errorf("shaking hands with server over TLS: %w", err)
	}
	return session, nil
}
