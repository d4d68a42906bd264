package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Version is a protocol version: major in the upper, minor in the lower 16 bits.
type Version uint32

// Versions that this package speaks. Between the two nothing else differs
// than the length of cancel keys.
const (
	Version30 Version = 3 << 16
	Version32 Version = 3<<16 | 2
)

// Major is the part that must be 3.
func (v Version) Major() int { return int(v >> 16) }

// Minor is the part that is negotiated down to what the server speaks.
func (v Version) Minor() int { return int(v & 0xffff) }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// Parameter is one setting of a startup message.
type Parameter struct{ Name, Value string }

// Startup is a startup message. Its parameters keep their order and their
// duplicates (pgproto3 holds them in a map, which loses both).
type Startup struct {
	Version    Version
	Parameters []Parameter
}

// protocolOption is how names begin that speak of the protocol itself.
const protocolOption = "_pq_."

func parseStartup(version Version, body []byte) (Startup, error) {
	s := Startup{Version: version}
	if version.Major() != 3 {
		return s, &Error{
			Code:    pgerrcode.FeatureNotSupported,
			Message: fmt.Sprintf("unsupported frontend protocol %s: server supports 3.0 to %s", version, Version32),
		}
	}
	for {
		name, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return s, malformed("invalid startup packet layout: expected terminator as last byte")
		}
		if len(name) == 0 {
			body = rest
			break
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return s, malformed("invalid startup packet layout: parameter without a value")
		}
		s.Parameters = append(s.Parameters, Parameter{string(name), string(value)})
		body = rest
	}
	if len(body) != 0 {
		return s, malformed("invalid startup packet layout: expected terminator as last byte")
	}
	if s.User() == "" {
		return s, &Error{
			Code:    pgerrcode.InvalidAuthorizationSpecification,
			Message: "no PostgreSQL user name specified in startup packet",
		}
	}
	return s, nil
}

// Get returns a parameter's value, the last one when it was given twice, or "".
func (s Startup) Get(name string) string {
	value := ""
	for _, p := range s.Parameters {
		if p.Name == name {
			value = p.Value
		}
	}
	return value
}

// User is the role that the client wants to be.
func (s Startup) User() string { return s.Get("user") }

// Database is the database that the client asks for; like its user when it names none.
func (s Startup) Database() string {
	if name := s.Get("database"); name != "" {
		return name
	}
	return s.User()
}

// For returns the message that opens the same session on another server: as
// the given user, on the given database. Everything else is the client's, in
// its order, behind the extra parameters (of two equal names the server takes
// the later). Options of the protocol stay behind: they were between the
// client and us. The version is 3.0, which every server speaks.
func (s Startup) For(user, database string, extra ...Parameter) Startup {
	next := Startup{Version: Version30}
	next.Parameters = append(next.Parameters, Parameter{"user", user}, Parameter{"database", database})
	next.Parameters = append(next.Parameters, extra...)
	for _, p := range s.Parameters {
		if p.Name == "user" || p.Name == "database" || strings.HasPrefix(p.Name, protocolOption) {
			continue
		}
		next.Parameters = append(next.Parameters, p)
	}
	return next
}

// appendTo appends the message as it travels.
func (s Startup) appendTo(packet []byte) []byte {
	start := len(packet)
	packet = append(packet, 0, 0, 0, 0) // the length, once it is known
	packet = binary.BigEndian.AppendUint32(packet, uint32(s.Version))
	for _, p := range s.Parameters {
		packet = append(append(packet, p.Name...), 0)
		packet = append(append(packet, p.Value...), 0)
	}
	packet = append(packet, 0)
	binary.BigEndian.PutUint32(packet[start:], uint32(len(packet)-start))
	return packet
}

// Negotiate tells a client that asked for a newer minor version, or for
// options of the protocol, what it gets instead. Other clients hear nothing.
func Negotiate(w io.Writer, s Startup) error {
	var unknown []string
	for _, p := range s.Parameters {
		if strings.HasPrefix(p.Name, protocolOption) {
			unknown = append(unknown, p.Name)
		}
	}
	if s.Version <= Version32 && unknown == nil {
		return nil
	}
	return send(w, &pgproto3.NegotiateProtocolVersion{
		// Named after the minor version, yet Postgres sends the whole one and clients expect it.
		NewestMinorProtocol: uint32(min(s.Version, Version32)),
		UnrecognizedOptions: unknown,
	})
}
