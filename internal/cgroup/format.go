package cgroup

import (
	"bytes"
	"math"
)

// format turns the text of one kind of file into counters. What is absent or
// is no number stays not measured.
type format interface {
	parse(text []byte, into *Counters)
}

// single is a file with one number.
type single struct {
	counter Counter
	divide  int64
}

func (s single) parse(text []byte, into *Counters) {
	if n, ok := parseInt(bytes.TrimSpace(text)); ok {
		into.Set(s.counter, n/s.divide)
	}
}

// table is a file of "key number" lines. Unknown keys are none of ours:
// every kernel release brings some.
type table []column

type column struct {
	key     string
	counter Counter
	times   int64
	divide  int64
}

func (t table) parse(text []byte, into *Counters) {
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		key, value, _ := bytes.Cut(line, blank)
		for _, column := range t {
			if string(key) != column.key {
				continue
			}
			if n, ok := parseInt(value); ok && n <= math.MaxInt64/column.times {
				into.Set(column.counter, n*column.times/column.divide)
			}
		}
	}
}

// memoryStat is memory.stat. Both versions count shared memory as page cache
// too; here it is taken out, so that the parts add up and "file" is what the
// kernel could drop.
type memoryStat table

func (m memoryStat) parse(text []byte, into *Counters) {
	table(m).parse(text, into)
	file, known := into.Get(FileBytes)
	shmem, both := into.Get(ShmemBytes)
	if !known || !both {
		into.Unset(FileBytes)
		return
	}
	into.Set(FileBytes, max(0, file-shmem)) // the two are not read at one instant
}

// pressure is a PSI file; its counter is the total of the "some" line.
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=48000639
type pressure Counter

func (p pressure) parse(text []byte, into *Counters) {
	line, _ := cutLine(text)
	if !bytes.HasPrefix(line, []byte("some ")) {
		return
	}
	_, total, _ := bytes.Cut(line, []byte(" total="))
	if n, ok := parseInt(total); ok {
		into.Set(Counter(p), n)
	}
}

var blank = []byte(" ")

func cutLine(text []byte) (line, rest []byte) {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[:end], text[end+1:]
	}
	return text, nil
}

// parseInt reads a number that is not negative. It allocates nothing, unlike
// strconv, which wants a string for its errors.
func parseInt(digits []byte) (n int64, ok bool) {
	if len(digits) == 0 {
		return 0, false
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = 10*n + int64(digit-'0')
	}
	return n, true
}
