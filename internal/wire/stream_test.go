package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	old "github.com/jackc/pgproto3/v2"
)

// walk feeds a stream in chunks of a size and returns what was visited.
func walk(stream []byte, size int) (visited string, s Stream) {
	for len(stream) > 0 {
		n := min(size, len(stream))
		s.Walk(stream[:n], func(kind, status byte) {
			visited += string(kind)
			if status != 0 {
				visited += "(" + string(status) + ")"
			}
		})
		stream = stream[n:]
	}
	return visited, s
}

func TestStreamFindsMessagesHoweverTheyAreCut(t *testing.T) {
	stream := encode(t, &old.ParameterStatus{Name: "a", Value: "b"}, &old.ReadyForQuery{TxStatus: 'I'},
		&old.DataRow{Values: [][]byte{make([]byte, 300)}}, &old.NoData{}, &old.ReadyForQuery{TxStatus: 'T'},
		&old.ReadyForQuery{TxStatus: 'E'}, &old.CommandComplete{CommandTag: []byte("SELECT 1")})
	for size := 1; size <= len(stream); size++ {
		visited, s := walk(stream, size)
		if want := "SZ(I)DnZ(T)Z(E)C"; visited != want {
			t.Errorf("chunks of %d: visited %s, want %s", size, visited, want)
		}
		if !s.Boundary() {
			t.Errorf("chunks of %d: not at a boundary", size)
		}
	}
}

func TestStreamKnowsBoundaries(t *testing.T) {
	stream := encode(t, &old.DataRow{Values: [][]byte{[]byte("abc")}})
	for n := range len(stream) {
		_, s := walk(stream[:n], 1<<10)
		if want := n == 0; s.Boundary() != want {
			t.Errorf("after %d of %d bytes: boundary %v, want %v", n, len(stream), s.Boundary(), want)
		}
	}
}

func TestStreamGivesUpAtLengthsThatCannotBe(t *testing.T) {
	good := string(encode(t, &old.NoData{}))
	for name, bad := range map[string]string{
		"zero": "Q\x00\x00\x00\x00", "three": "Q\x00\x00\x00\x03", "ready without a status": "Z\x00\x00\x00\x04I", "too big": "Q\xff\xff\xff\xff",
	} {
		visited, s := walk([]byte(good+bad+good), 1<<10)
		if diff := cmp.Diff("n", visited); diff != "" || s.Boundary() {
			t.Errorf("%s: visited %q, boundary %v", name, visited, s.Boundary())
		}
	}
}

func BenchmarkStreamWalk(b *testing.B) {
	var chunk []byte
	for len(chunk) < 32<<10 {
		chunk = append(chunk, encode(b, &old.DataRow{Values: [][]byte{make([]byte, 100)}})...)
	}
	b.SetBytes(int64(len(chunk)))
	var s Stream
	for b.Loop() {
		s.Walk(chunk, func(kind, status byte) {})
	}
}
