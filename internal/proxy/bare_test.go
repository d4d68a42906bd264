package proxy

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	old "github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"
)

// bare is a client made of bytes: it sends what no library would.
type bare struct {
	t    testing.TB
	conn net.Conn
}

// message is one message from the gateway.
type message struct {
	kind byte
	body string
}

// startup sends a startup packet; parameters are NUL-separated as they
// travel, with | for NUL.
func (b bare) startup(version uint32, parameters string) {
	b.t.Helper()
	body := strings.ReplaceAll(parameters, "|", "\x00") + "\x00"
	packet := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	packet = binary.BigEndian.AppendUint32(packet, version)
	b.send(append(packet, body...))
}

func (b bare) send(bytes []byte) {
	b.t.Helper()
	if _, err := b.conn.Write(bytes); err != nil {
		b.t.Errorf("client sending: %v", err)
	}
}

func (b bare) say(kind byte, body string) {
	b.t.Helper()
	b.send(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body))), body...))
}

// receive reads one message; kind 0 means that the connection has ended. It
// may be called by any goroutine of a test.
func (b bare) receive() message {
	b.t.Helper()
	var header [5]byte
	if _, err := io.ReadFull(b.conn, header[:]); err == io.EOF {
		return message{}
	} else if err != nil {
		b.t.Errorf("client reading: %v", err)
		return message{}
	}
	body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
	if _, err := io.ReadFull(b.conn, body); err != nil {
		b.t.Errorf("client reading: %v", err)
		return message{}
	}
	return message{header[0], string(body)}
}

// until receives until a message of that kind, which is the last returned.
func (b bare) until(kind byte) (all []message) {
	b.t.Helper()
	for {
		m := b.receive()
		all = append(all, m)
		if m.kind == kind || m.kind == 0 {
			return all
		}
	}
}

// logIn answers the gateway's SASL messages and returns everything from
// AuthenticationOk to ReadyForQuery.
func (b bare) logIn(password string) []message {
	b.t.Helper()
	verify := b.prove(password)
	if _, err := verify(b.expect('R').body[4:]); err != nil {
		b.t.Fatal(err)
	}
	return b.until('Z')
}

// failedLogin is what a login with that password ends in.
func (b bare) failedLogin(password string) old.ErrorResponse {
	b.t.Helper()
	b.prove(password)
	return b.failure()
}

// prove goes through SCRAM up to the client's proof; verify takes the server's.
func (b bare) prove(password string) (verify func(string) (string, error)) {
	b.t.Helper()
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		b.t.Fatal(err)
	}
	login := client.NewConversation()
	first, _ := login.Step("")
	b.expect('R')
	b.say('p', "SCRAM-SHA-256\x00"+string(binary.BigEndian.AppendUint32(nil, uint32(len(first))))+first)
	final, err := login.Step(b.expect('R').body[4:])
	if err != nil {
		b.t.Fatal(err)
	}
	b.say('p', final)
	return login.Step
}

func (b bare) expect(kind byte) message {
	b.t.Helper()
	m := b.receive()
	if m.kind != kind {
		b.t.Fatalf("got message %q %q, want %q", m.kind, m.body, kind)
	}
	return m
}

// kinds is the sequence of message types.
func kinds(messages []message) string {
	var sequence strings.Builder
	for _, m := range messages {
		sequence.WriteByte(m.kind)
	}
	return sequence.String()
}

// failure reads an ErrorResponse, behind which the gateway must close.
func (b bare) failure() old.ErrorResponse {
	b.t.Helper()
	var e old.ErrorResponse
	if err := e.Decode([]byte(b.expect('E').body)); err != nil {
		b.t.Fatal(err)
	}
	if m := b.receive(); m.kind != 0 {
		b.t.Errorf("message %q follows the error", m.kind)
	}
	return e
}

// bareTo is a client made of bytes at either end: of the gateway, or of the
// engine without one.
func bareTo(t testing.TB, address string) bare {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { conn.Close() })
	return bare{t, conn}
}

func (g *gateway) address() string { return fmt.Sprintf("%s:%d", g.host, g.port) }

func engineAddress() string { return fmt.Sprintf("127.0.0.1:%d", engine.Port) }

// loggedIn is a bare client of the gateway, logged in as ann.
func (g *gateway) loggedIn(t testing.TB) bare {
	t.Helper()
	b := bare{t, g.dial(t)}
	b.startup(196608, "user|ann|database|lab|")
	b.logIn(password)
	return b
}
