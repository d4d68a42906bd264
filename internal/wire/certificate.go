package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Life of a self-made certificate. It is renewed when the gateway starts, so
// the margin is what a gateway may run without a restart.
const (
	certificateLife   = 2 * 365 * 24 * time.Hour
	certificateMargin = 90 * 24 * time.Hour
)

// SelfSigned returns the certificate in dir (server.crt, and server.key with
// mode 0600), and makes one when there is none or it is about to expire. It
// names the loopback addresses and hosts (names or IP addresses). Clients can
// pin it: sslrootcert=server.crt sslmode=verify-full.
func SelfSigned(dir string, hosts ...string) (tls.Certificate, error) {
	crt, key := filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	certificate, err := tls.LoadX509KeyPair(crt, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return tls.Certificate{}, fmt.Errorf("loading TLS certificate (remove %s and %s to have new ones made): %w", crt, key, err)
	case time.Until(certificate.Leaf.NotAfter) > certificateMargin:
		return certificate, nil
	}
	if err := writeSelfSigned(crt, key, hosts); err != nil {
		return tls.Certificate{}, fmt.Errorf("making TLS certificate: %w", err)
	}
	return tls.LoadX509KeyPair(crt, key)
}

func writeSelfSigned(crt, key string, hosts []string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := template(hosts)
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	// The old certificate goes first: after a crash in between, a lone key
	// makes the next start begin anew, where a pair that does not match would stop it.
	if err := os.Remove(crt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writePEM(key, "PRIVATE KEY", secret, 0o600); err != nil {
		return err
	}
	return writePEM(crt, "CERTIFICATE", der, 0o644)
}

// template leaves the serial number out: x509 then takes a random one.
func template(hosts []string) *x509.Certificate {
	now := time.Now()
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "pglab"},
		NotBefore:             now.Add(-time.Hour), // for clients whose clock is behind
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if host != "" {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	return t
}

// writePEM replaces a file in one step.
func writePEM(path, kind string, der []byte, mode fs.FileMode) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}
