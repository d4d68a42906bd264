package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Caps on what a client may send before it has logged in.
const (
	maxStartupPacket = 10_000   // Postgres's own limit; without the length word
	maxAuthMessage   = 64 << 10 // as libpq and Postgres cap it
)

// readPacket reads one packet of the startup phase, which has no type byte:
// header is its first four bytes, the rest is read from r.
func readPacket(r io.Reader, header [4]byte) (code uint32, body []byte, err error) {
	length := int64(binary.BigEndian.Uint32(header[:])) - 4
	if length < 4 || length > maxStartupPacket {
		return 0, nil, malformed("invalid length of startup packet")
	}
	packet := make([]byte, length)
	if _, err := io.ReadFull(r, packet); err != nil {
		return 0, nil, fmt.Errorf("reading startup packet: %w", unexpected(err))
	}
	return binary.BigEndian.Uint32(packet), packet[4:], nil
}

// readAuthMessage reads the body of a 'p' message: passwords and SASL answers.
func readAuthMessage(r io.Reader) ([]byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, fmt.Errorf("reading authentication message: %w", err)
	}
	if header[0] != 'p' {
		return nil, malformed("expected SASL response, got message type %d", header[0])
	}
	length := int64(binary.BigEndian.Uint32(header[1:])) - 4
	if length < 0 || length > maxAuthMessage {
		return nil, malformed("invalid message length")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("reading authentication message: %w", unexpected(err))
	}
	return body, nil
}

// unexpected makes an end of file inside a message tell from one between messages.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// send writes messages with one call, so that they leave in one segment.
func send(w io.Writer, messages ...pgproto3.Message) error {
	var packet []byte
	for _, m := range messages {
		var err error
		if packet, err = m.Encode(packet); err != nil {
			return fmt.Errorf("encoding %T: %w", m, err)
		}
	}
	if _, err := w.Write(packet); err != nil {
		return fmt.Errorf("sending %T: %w", messages[0], err)
	}
	return nil
}
