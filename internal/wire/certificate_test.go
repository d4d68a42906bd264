package wire

import (
	"bytes"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSelfSignedSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	first, err := SelfSigned(dir, "lab.example", "192.0.2.7", "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := SelfSigned(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Certificate[0], again.Certificate[0]) {
		t.Error("a second start made a new certificate")
	}
	for file, want := range map[string]fs.FileMode{"server.key": 0o600, "server.crt": 0o644} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v (%v), want %v", file, info.Mode().Perm(), err, want)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(first.Leaf)
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "lab.example", "192.0.2.7"} {
		if _, err := first.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("pinned by a client, as %s: %v", name, err)
		}
	}
	other, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if first.Leaf.SerialNumber.Cmp(other.Leaf.SerialNumber) == 0 {
		t.Error("two certificates have one serial number")
	}
}

func TestSelfSignedBeginsAnewAfterACrashBetweenItsFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := SelfSigned(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "server.crt")); err != nil {
		t.Fatal(err)
	}
	if _, err := SelfSigned(dir); err != nil {
		t.Errorf("with a lone key: %v", err)
	}
}

func TestSelfSignedLeavesBrokenFilesToTheirOwner(t *testing.T) {
	dir := t.TempDir()
	if _, err := SelfSigned(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.crt"), []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SelfSigned(dir); err == nil {
		t.Error("overwrote a file that it could not read")
	}
}
