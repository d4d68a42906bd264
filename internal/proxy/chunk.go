package proxy

import "io"

// Sizes of a relay's buffer: an idle session keeps the small one, a bulk
// transfer grows out of it.
const (
	smallChunk = 8 << 10
	largeChunk = 64 << 10
)

// chunk is the buffer of one direction. The zero value is ready to use.
type chunk struct{ buffer []byte }

// read returns what one Read of r brings, valid until the next call.
func (c *chunk) read(r io.Reader) ([]byte, error) {
	if c.buffer == nil {
		c.buffer = make([]byte, smallChunk)
	}
	n, err := r.Read(c.buffer)
	bytes := c.buffer[:n]
	if n == len(c.buffer) && n < largeChunk {
		c.buffer = make([]byte, largeChunk)
	}
	return bytes, err
}
