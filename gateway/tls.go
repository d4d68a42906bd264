package main

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"pglab/internal/wire"
)

// serverTLS shows clients the certificate that was given, or a self-made one
// that is kept in the data directory.
func serverTLS(c config) (*tls.Config, error) {
	if c.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(c.tlsCert, c.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		return wire.ServerTLS(certificate), nil
	}
	host, _, _ := net.SplitHostPort(c.listen)
	certificate, err := wire.SelfSigned(c.data, host)
	if err != nil {
		return nil, err
	}
	return wire.ServerTLS(certificate), nil
}

// mockSecret makes what unknown users' salts are derived from, once: a salt
// that changed over a restart would tell that there is no such user.
func mockSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	secret = []byte(rand.Text())
	if err := os.WriteFile(path, secret, 0o600); err != nil {
		return nil, fmt.Errorf("keeping secret: %w", err)
	}
	return secret, nil
}
