package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	old "github.com/jackc/pgproto3/v2"
)

// fakeServer reads a startup packet, then says what it is told to.
func fakeServer(t *testing.T, say []byte) net.Conn {
	t.Helper()
	gateway, server := pair(t)
	background(t, func() {
		defer server.Close()
		var length [4]byte
		io.ReadFull(server, length[:])
		io.CopyN(io.Discard, server, int64(binary.BigEndian.Uint32(length[:]))-4)
		server.Write(say)
	})
	return gateway
}

func encode(t testing.TB, messages ...old.BackendMessage) (stream []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if stream, err = m.Encode(stream); err != nil {
			t.Fatal(err)
		}
	}
	return stream
}

func TestLoginHandsTheGreetingOn(t *testing.T) {
	before := encode(t, &old.AuthenticationOk{},
		&old.ParameterStatus{Name: "server_version", Value: "15.18"},
		&old.NoticeResponse{Severity: "WARNING", Message: "mind the gap"})
	after := encode(t, &old.ParameterStatus{Name: "TimeZone", Value: "UTC"}, &old.ReadyForQuery{TxStatus: 'I'},
		&old.NotificationResponse{PID: 1, Channel: "early"})
	key := encode(t, &old.BackendKeyData{ProcessID: 4711, SecretKey: 0x01020304})

	greeting, err := Login(fakeServer(t, bytes.Join([][]byte{before, key, after}, nil)), plainStartup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(CancelKey{4711, []byte{1, 2, 3, 4}}, greeting.Key); diff != "" {
		t.Error(diff)
	}
	own := NewCancelKey(4711, Version32)
	got, err := greeting.WithKey(own)
	if err != nil {
		t.Fatal(err)
	}
	header := binary.BigEndian.AppendUint32([]byte("K\x00\x00\x00\x28"), 4711)
	want := bytes.Join([][]byte{before, header, own.Secret, after}, nil)
	if !bytes.Equal(got, want) {
		t.Errorf("handed on\n%q, want\n%q", got, want)
	}
}

func TestLoginToAServerWithoutCancelKeys(t *testing.T) {
	say := encode(t, &old.AuthenticationOk{}, &old.ReadyForQuery{TxStatus: 'I'})
	greeting, err := Login(fakeServer(t, say), plainStartup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := greeting.WithKey(NewCancelKey(1, Version30)); err != nil || !bytes.Equal(got, say) {
		t.Errorf("handed on %q, %v", got, err)
	}
}

func TestLoginHandsARefusalOnVerbatim(t *testing.T) {
	say := encode(t, &old.AuthenticationOk{}, &old.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "3D000", Message: `database "x" does not exist`, File: "postinit.c", Line: 885,
	})
	_, err := Login(fakeServer(t, say), plainStartup, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != "3D000" {
		t.Fatalf("error %v", err)
	}
	var out bytes.Buffer
	if _, err := e.WriteTo(&out); err != nil || !bytes.Equal(out.Bytes(), say) {
		t.Errorf("wrote %q (%v), want %q", out.Bytes(), err, say)
	}
}

func TestLoginToTroubledServers(t *testing.T) {
	sasl := encode(t, &old.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}})
	for _, test := range []struct {
		name, say, code, detail string
	}{
		{"text before the protocol", "Ecould not fork new process for connection: Cannot allocate memory\n\x00",
			"08006", "could not fork new process"},
		{"text before the protocol that never ends", "E" + strings.Repeat("x", 1<<16), "08006", "xxxx"},
		{"nothing", "", "08006", "EOF"},
		{"half a message", "R\x00\x00\x00\x08\x00", "08006", "EOF"},
		{"length that cannot be", "R\x00\x00\x00\x03", "08006", "claims 3 bytes"},
		{"huge message", "S\x7f\xff\xff\xff", "08006", "claims 2147483647 bytes"},
		{"huge error later", string(encode(t, &old.AuthenticationOk{})) + "E\x7f\xff\xff\xff", "08006", "claims 2147483647 bytes"},
		{"endless greeting", strings.Repeat(string(encode(t, &old.ParameterStatus{Name: "x", Value: strings.Repeat("y", 60<<10)})), 20), "08006", "claims"},
		{"row before it is ready", string(encode(t, &old.DataRow{})), "08006", "unexpected message 'D'"},
		{"clear-text password", string(encode(t, &old.AuthenticationCleartextPassword{})), "28000", ""},
		{"password that we have not", string(sasl), "28000", ""},
		{"second half of an exchange never begun", string(encode(t, &old.AuthenticationSASLContinue{Data: []byte("r=")})), "28000", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := fakeServer(t, []byte(test.say))
			var err error
			grown := allocated(func() { _, err = Login(conn, plainStartup, nil) })
			conn.Close()
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != test.code || !strings.Contains(e.Detail, test.detail) {
				t.Errorf("error %v, detail %q", err, e.Detail)
			}
			if grown > 8<<20 {
				t.Errorf("allocated %d bytes", grown)
			}
		})
	}
}

func TestLoginDoesNotTrustAServerThatCannotSign(t *testing.T) {
	say := encode(t, &old.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"}},
		&old.AuthenticationSASLContinue{Data: []byte("r=stranger,s=AAAA,i=4096")})
	_, err := Login(fakeServer(t, say), plainStartup, Password("secret"))
	if e, ok := errors.AsType[*Error](err); !ok || e.Message != "the gateway could not authenticate the server" {
		t.Errorf("error %v", err)
	}
}

func TestSendCancelWaitsForTheServer(t *testing.T) {
	gateway, server := pair(t)
	sent := make(chan error, 1)
	go func() { sent <- SendCancel(gateway, CancelKey{4711, []byte{1, 2, 3, 4}}) }()
	opening, err := ReadOpening(server, nil)
	if err != nil || !opening.Cancel.Equal(CancelKey{4711, []byte{1, 2, 3, 4}}) {
		t.Fatalf("the server read %+v, %v", opening.Cancel, err)
	}
	select {
	case err := <-sent:
		t.Fatalf("returned %v before the server had closed", err)
	default:
	}
	server.Close()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestRequestTLS(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	gateway, server := pair(t)
	background(t, func() {
		opening, err := ReadOpening(server, serverTLS)
		if err != nil {
			t.Errorf("server: %v", err)
		}
		opening.Conn.Close()
	})
	session, err := RequestTLS(gateway, clientTLS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Write(plainStartup.appendTo(nil)); err != nil {
		t.Error(err)
	}

	gateway, server = pair(t)
	background(t, func() { ReadOpening(server, nil) })
	if _, err := RequestTLS(gateway, clientTLS); err == nil {
		t.Error("went on without TLS")
	}
	gateway.Close()
}
