package wire

import "encoding/binary"

// Stream follows one direction of a session through the chunks that a relay
// moves, from message to message, without looking into them. The zero value
// stands at the beginning of a message.
type Stream struct {
	head   [6]byte
	have   int   // bytes in head
	body   int64 // bytes of the current message still to come
	broken bool
}

// readyForQuery is the one message whose body matters: a byte that says
// whether the session is idle ('I'), in a transaction ('T') or in a failed one ('E').
const readyForQuery = 'Z'

// Walk takes the next chunk and calls visit for every message whose header it
// completes; status is ReadyForQuery's byte, else 0. After a length that
// cannot be, the boundaries are lost and nothing more is visited.
func (s *Stream) Walk(chunk []byte, visit func(kind, status byte)) {
	for len(chunk) > 0 && !s.broken {
		if skip := min(s.body, int64(len(chunk))); skip > 0 {
			s.body -= skip
			chunk = chunk[skip:]
			continue
		}
		n := copy(s.head[s.have:s.want()], chunk)
		s.have += n
		chunk = chunk[n:]
		if s.have == s.want() {
			s.message(visit)
		}
	}
}

// want is how much of a message has to be seen.
func (s *Stream) want() int {
	if s.have > 0 && s.head[0] == readyForQuery {
		return 6
	}
	return 5
}

func (s *Stream) message(visit func(kind, status byte)) {
	kind, length := s.head[0], int64(binary.BigEndian.Uint32(s.head[1:]))
	s.body = length + 1 - int64(s.have)
	if s.body < 0 || length > 1<<31-1 {
		s.broken = true
		return
	}
	var status byte
	if kind == readyForQuery {
		status = s.head[5]
	}
	s.have = 0
	visit(kind, status)
}

// Boundary reports whether the next byte begins a message.
func (s *Stream) Boundary() bool { return s.have == 0 && s.body == 0 && !s.broken }
