package wire

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Codes that stand where a startup message has its version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSSENC = 80877104
)

// Opening is what a client wants of us, once encryption is settled.
type Opening struct {
	// Conn is where to go on: the connection itself or the TLS session over
	// it. It is set even when ReadOpening fails, for the error to go to.
	Conn    net.Conn
	Startup Startup    // unless Cancel is set
	Cancel  *CancelKey // the session to interrupt
}

// ReadOpening reads from the first byte of a connection to its startup
// message or cancel request. It answers SSLRequest (with TLS when config is
// not nil), GSSENCRequest (always no) and TLS that starts without a request.
//
// An *Error is for the client to read. Any other error means that the client
// is gone, silent or not talking Postgres: close without a word. io.EOF means
// that it never said anything.
func ReadOpening(conn net.Conn, config *tls.Config) (Opening, error) {
	o := opener{conn: conn, config: config}
	header, err := o.firstHeader()
	for err == nil {
		var code uint32
		var body []byte
		if code, body, err = readPacket(o.conn, header); err != nil {
			break
		}
		switch {
		case code == codeCancel:
			key, err := parseCancelRequest(body)
			return Opening{Conn: o.conn, Cancel: key}, err
		case code == codeSSL && !o.sslDone:
			err = o.answerSSL()
		case code == codeGSSENC && !o.gssDone:
			err = o.answerGSSENC()
		default:
			startup, err := parseStartup(Version(code), body)
			return Opening{Conn: o.conn, Startup: startup}, err
		}
		if err == nil {
			header, err = o.nextHeader()
		}
	}
	return Opening{Conn: o.conn}, err
}

// opener is one connection on its way to a startup message. Each kind of
// request is answered once; asked again it is taken for a startup message
// and refused for its version, as Postgres does. Behind TLS, GSSAPI is no
// longer on offer.
type opener struct {
	conn      net.Conn
	config    *tls.Config
	encrypted bool
	sslDone   bool
	gssDone   bool
}

// tlsRecord is the first byte of a TLS handshake; as the first byte of a
// packet's length it would announce 369 MB.
const tlsRecord = 0x16

func (o *opener) firstHeader() ([4]byte, error) {
	var header [4]byte
	if n, err := io.ReadFull(o.conn, header[:]); n == 0 && err == io.EOF {
		return header, io.EOF
	} else if err != nil {
		return header, fmt.Errorf("reading startup packet: %w", err)
	}
	if header[0] != tlsRecord || o.config == nil {
		return header, nil
	}
	if err := o.encrypt(&replayed{Conn: o.conn, head: header[:]}); err != nil {
		return header, err
	}
	if proto := o.conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; proto != alpn {
		return header, malformed("received direct SSL connection request without ALPN protocol negotiation extension")
	}
	return o.nextHeader()
}

func (o *opener) nextHeader() (header [4]byte, err error) {
	if _, err = io.ReadFull(o.conn, header[:]); err != nil {
		return header, fmt.Errorf("reading startup packet: %w", unexpected(err))
	}
	return header, nil
}

func (o *opener) answerSSL() error {
	o.sslDone = true
	if err := refuseStuffing(o.conn, "SSL"); err != nil {
		return err
	}
	if o.config == nil || o.encrypted {
		return o.answer('N')
	}
	if err := o.answer('S'); err != nil {
		return err
	}
	return o.encrypt(o.conn)
}

func (o *opener) answerGSSENC() error {
	o.gssDone = true
	if err := refuseStuffing(o.conn, "GSSAPI encryption"); err != nil {
		return err
	}
	return o.answer('N')
}

func (o *opener) answer(b byte) error {
	if _, err := o.conn.Write([]byte{b}); err != nil {
		return fmt.Errorf("answering encryption request: %w", err)
	}
	return nil
}

func (o *opener) encrypt(conn net.Conn) error {
	session := tls.Server(conn, o.config)
	if err := session.Handshake(); err != nil {
		return fmt.Errorf("shaking hands over TLS: %w", err)
	}
	o.conn, o.encrypted, o.gssDone = session, true, true
	return nil
}

// refuseStuffing finds bytes that a client sent behind its request for
// encryption without waiting for the answer. They came in the clear, perhaps
// from somebody in between, and must not be taken for the encrypted session's.
func refuseStuffing(conn net.Conn, request string) error {
	waiting, err := hasUnread(conn)
	if err != nil {
		return fmt.Errorf("looking for bytes behind encryption request: %w", err)
	}
	if !waiting {
		return nil
	}
	stuffed := malformed("received unencrypted data after %s request", request)
	stuffed.Detail = "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack."
	return stuffed
}

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	head []byte
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.head) > 0 {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}

func parseCancelRequest(body []byte) (*CancelKey, error) {
	if secret := len(body) - 4; secret < minSecret || secret > maxSecret {
		return nil, malformed("invalid length of query cancel packet")
	}
	return &CancelKey{PID: binary.BigEndian.Uint32(body), Secret: body[4:]}, nil
}
