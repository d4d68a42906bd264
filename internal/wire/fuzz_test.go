package wire

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stranger is a connection that says what it is given and listens to nothing.
type stranger struct {
	net.Conn // nil: whatever else is called is a bug
	say      io.Reader
}

func (s stranger) Read(p []byte) (int, error)     { return s.say.Read(p) }
func (stranger) Write(p []byte) (int, error)      { return len(p), nil }
func (stranger) Close() error                     { return nil }
func (stranger) SetDeadline(time.Time) error      { return nil }
func (stranger) SetReadDeadline(time.Time) error  { return nil }
func (stranger) SetWriteDeadline(time.Time) error { return nil }

// Whatever a stranger sends ends in an opening or an error, and an opening
// means the same when it is sent on.
func FuzzReadOpening(f *testing.F) {
	f.Add(plainStartup.appendTo(nil), false)
	f.Add(append(sslRequest[:8:8], plainStartup.appendTo(nil)...), true)
	serverTLS, _ := testTLS(f)
	f.Fuzz(func(t *testing.T, say []byte, offerTLS bool) {
		config := serverTLS
		if !offerTLS {
			config = nil
		}
		opening, err := ReadOpening(stranger{say: bytes.NewReader(say)}, config)
		if opening.Conn == nil {
			t.Fatal("no connection to go on with")
		}
		if err != nil || opening.Cancel != nil {
			return
		}
		again, err := ReadOpening(stranger{say: bytes.NewReader(opening.Startup.appendTo(nil))}, nil)
		if err != nil {
			t.Fatalf("%+v does not survive being sent on: %v", opening.Startup, err)
		}
		if diff := cmp.Diff(opening.Startup, again.Startup); diff != "" {
			t.Error(diff)
		}
	})
}

// Nobody logs in by guessing, and nothing that is sent instead of a SCRAM
// exchange does harm.
func FuzzAuthenticate(f *testing.F) {
	f.Add([]byte("p\x00\x00\x00\x36SCRAM-SHA-256\x00\x00\x00\x00\x20n,,n=,r=rOprNGfwEbeRWgbNEkqOabcd"))
	verifier := MockVerifier([]byte("fuzz"), "ann")
	f.Fuzz(func(t *testing.T, say []byte) {
		keys, err := Authenticate(stranger{say: bytes.NewReader(say)}, "ann", verifier)
		if err == nil || keys != nil {
			t.Fatal("logged in")
		}
	})
}

// Where messages begin does not depend on how the stream is cut.
func FuzzStream(f *testing.F) {
	f.Add([]byte("Z\x00\x00\x00\x05IQ\x00\x00\x00\x04"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		whole, a := walk(stream, max(len(stream), 1))
		cut, b := walk(stream, max(size, 1))
		if whole != cut || a.Boundary() != b.Boundary() {
			t.Errorf("whole: %q, cut into %d: %q", whole, size, cut)
		}
	})
}

// Whatever a server says to a startup message ends in a greeting or an error.
func FuzzLogin(f *testing.F) {
	f.Add([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"))
	f.Fuzz(func(t *testing.T, say []byte) {
		greeting, err := Login(stranger{say: bytes.NewReader(say)}, plainStartup, Password("secret"))
		if _, worded := err.(*Error); err != nil && !worded {
			t.Fatalf("error without words: %v", err)
		}
		if _, err := greeting.WithKey(NewCancelKey(1, Version32)); err != nil {
			t.Error(err)
		}
	})
}
