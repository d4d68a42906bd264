package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func request(code uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, code)
}

var (
	sslRequest    = request(codeSSL)
	gssencRequest = request(codeGSSENC)
	plainStartup  = Startup{Version30, []Parameter{{"user", "ann"}}}
)

func testTLS(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	certificate, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return ServerTLS(certificate), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}}
}

// talk is a client that sends bytes, or waits for the bytes that it expects.
type talk struct {
	send, expect []byte
	tls          *tls.Config // start TLS here
}

// play lets the client act its part against ReadOpening.
func play(t *testing.T, config *tls.Config, script ...talk) (Opening, error) {
	t.Helper()
	conn, server := pair(t)
	background(t, func() {
		client := conn
		for _, line := range script {
			client.Write(line.send)
			if got := make([]byte, len(line.expect)); len(got) > 0 {
				if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, line.expect) {
					t.Errorf("after %q the client read %q (%v), want %q", line.send, got, err, line.expect)
				}
			}
			if line.tls != nil {
				client = tls.Client(client, line.tls)
			}
		}
		CloseWrite(client)
	})
	opening, err := ReadOpening(server, config)
	if err != nil {
		opening.Conn.Close() // as every caller does in the end
	}
	return opening, err
}

func TestReadOpening(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	startup := plainStartup.appendTo(nil)
	noALPN := &tls.Config{InsecureSkipVerify: true}
	otherALPN := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
	yes, no := []byte("S"), []byte("N")

	for _, test := range []struct {
		name      string
		tls       *tls.Config
		script    []talk
		code      string
		encrypted bool
	}{
		{"startup at once", serverTLS, []talk{{send: startup}}, "", false},
		{"TLS after SSLRequest", serverTLS, []talk{{sslRequest, yes, clientTLS}, {send: startup}}, "", true},
		{"TLS after SSLRequest by a client without ALPN", serverTLS, []talk{{sslRequest, yes, noALPN}, {send: startup}}, "", true},
		{"TLS by a client of another protocol", serverTLS, []talk{{sslRequest, yes, otherALPN}, {send: startup}}, "not for the client", false},
		{"direct TLS", serverTLS, []talk{{tls: clientTLS}, {send: startup}}, "", true},
		{"direct TLS without ALPN", serverTLS, []talk{{tls: noALPN}, {send: startup}}, "08P01", true},
		{"direct TLS where none is offered", nil, []talk{{tls: clientTLS}, {send: startup}}, "08P01", false},
		{"SSLRequest inside direct TLS", serverTLS, []talk{{tls: clientTLS}, {sslRequest, no, nil}, {send: startup}}, "", true},
		{"SSLRequest where TLS is not offered", nil, []talk{{sslRequest, no, nil}, {send: startup}}, "", false},
		{"GSSENC, then SSL, both refused", nil, []talk{{gssencRequest, no, nil}, {sslRequest, no, nil}, {send: startup}}, "", false},
		{"SSL, then GSSENC, both refused", nil, []talk{{sslRequest, no, nil}, {gssencRequest, no, nil}, {send: startup}}, "", false},
		{"GSSENC, then TLS", serverTLS, []talk{{gssencRequest, no, nil}, {sslRequest, yes, clientTLS}, {send: startup}}, "", true},
		{"SSLRequest twice", nil, []talk{{sslRequest, no, nil}, {send: sslRequest}}, "0A000", false},
		{"SSLRequest again inside TLS", serverTLS, []talk{{sslRequest, yes, clientTLS}, {send: sslRequest}}, "0A000", true},
		{"GSSENC twice", nil, []talk{{gssencRequest, no, nil}, {send: gssencRequest}}, "0A000", false},
		{"GSSENC inside TLS", serverTLS, []talk{{sslRequest, yes, clientTLS}, {send: gssencRequest}}, "0A000", true},
		{"startup stuffed behind SSLRequest", serverTLS, []talk{{send: append(sslRequest[:8:8], startup...)}}, "08P01", false},
		{"startup stuffed behind refused SSLRequest", nil, []talk{{send: append(sslRequest[:8:8], startup...)}}, "08P01", false},
		{"startup stuffed behind GSSENCRequest", nil, []talk{{send: append(gssencRequest[:8:8], startup...)}}, "08P01", false},
		{"nothing", serverTLS, nil, "not for the client", false},
		{"three bytes", serverTLS, []talk{{send: startup[:3]}}, "not for the client", false},
		{"half a startup message", serverTLS, []talk{{send: startup[:12]}}, "not for the client", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			opening, err := play(t, test.tls, test.script...)
			if code := sqlState(err); code != test.code {
				t.Fatalf("SQLSTATE %q (%v), want %q", code, err, test.code)
			}
			if test.code == "" {
				if diff := cmp.Diff(plainStartup, opening.Startup); diff != "" {
					t.Error(diff)
				}
			}
			if _, encrypted := opening.Conn.(*tls.Conn); encrypted != test.encrypted {
				t.Errorf("encrypted: %v, want %v", encrypted, test.encrypted)
			}
		})
	}
}

func TestReadOpeningSaysWhenNothingWasSaid(t *testing.T) {
	if _, err := play(t, nil); err != io.EOF {
		t.Errorf("error %v, want io.EOF", err)
	}
}

func TestReadOpeningReadsNotOneByteAhead(t *testing.T) {
	client, server := pair(t)
	client.Write(append(plainStartup.appendTo(nil), "pipelined"...))
	if _, err := ReadOpening(server, nil); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, len("pipelined"))
	if _, err := io.ReadFull(server, rest); err != nil || string(rest) != "pipelined" {
		t.Errorf("the next reader got %q, %v", rest, err)
	}
}

func TestCancelRequestLengths(t *testing.T) {
	for secret, code := range map[int]string{0: "08P01", 3: "08P01", 4: "", 32: "", 256: "", 257: "08P01"} {
		packet := request(codeCancel)
		packet = binary.BigEndian.AppendUint32(packet, 4711)
		packet = append(packet, bytes.Repeat([]byte{7}, secret)...)
		binary.BigEndian.PutUint32(packet, uint32(len(packet)))

		opening, err := play(t, nil, talk{send: packet})
		if got := sqlState(err); got != code {
			t.Errorf("secret of %d bytes: SQLSTATE %q, want %q", secret, got, code)
		}
		if code == "" && (opening.Cancel.PID != 4711 || len(opening.Cancel.Secret) != secret) {
			t.Errorf("secret of %d bytes: read %+v", secret, opening.Cancel)
		}
	}
}

// A length is a claim: nothing is allocated on a stranger's word.
func TestLengthLiesOfStrangers(t *testing.T) {
	for _, length := range []uint32{0, 3, 4, 7, maxStartupPacket + 5, 0x7fffffff, 0xffffffff} {
		packet := binary.BigEndian.AppendUint32(nil, length)
		packet = binary.BigEndian.AppendUint32(packet, uint32(Version30))
		var err error
		grown := allocated(func() { _, err = play(t, nil, talk{send: packet}) })
		if code := sqlState(err); code != "08P01" {
			t.Errorf("startup packet of claimed length %#x: SQLSTATE %q, want 08P01", length, code)
		}
		if grown > 1<<20 {
			t.Errorf("startup packet of claimed length %#x: allocated %d bytes", length, grown)
		}
	}
	for _, length := range []uint32{0, 3, maxAuthMessage + 5, 0x7fffffff, 0xffffffff} {
		message := binary.BigEndian.AppendUint32([]byte{'p'}, length)
		var err error
		grown := allocated(func() { _, err = readAuthMessage(bytes.NewReader(message)) })
		if code := sqlState(err); code != "08P01" {
			t.Errorf("password message of claimed length %#x: SQLSTATE %q, want 08P01", length, code)
		}
		if grown > 1<<20 {
			t.Errorf("password message of claimed length %#x: allocated %d bytes", length, grown)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestRefuseReachesAClientThatIsStillSending(t *testing.T) {
	client, server := pair(t)
	client.Write(bytes.Repeat([]byte("x"), 32<<10))
	background(t, func() { Refuse(server, malformed("no")) })
	var got []byte
	buffer := make([]byte, 512)
	for {
		n, err := client.Read(buffer)
		got = append(got, buffer[:n]...)
		if err == io.EOF {
			client.Close()
			break
		}
		if err != nil {
			t.Fatalf("the client's connection broke: %v", err)
		}
	}
	if len(got) == 0 || got[0] != 'E' || !bytes.Contains(got, []byte("C08P01\x00Mno\x00")) {
		t.Errorf("the client read %q", got)
	}
}
