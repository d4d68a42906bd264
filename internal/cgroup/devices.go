package cgroup

import (
	"bytes"
	"os"
)

// devices sums per-device I/O. A byte written to a logical volume is counted
// there and again on the disk below: devices on top of others are left out.
type devices struct {
	host    Host
	stacked map[string]bool // by "major:minor"
}

// onTop reports whether a device is made of other block devices.
func (d *devices) onTop(device []byte) bool {
	stacked, known := d.stacked[string(device)]
	if !known {
		below, _ := os.ReadDir(d.host.path("sys/dev/block", string(device), "slaves"))
		stacked = len(below) > 0
		d.stacked[string(device)] = stacked
	}
	return stacked
}

// ioStat is io.stat of v2. An empty file means that nothing was read or written.
//
//	254:0 rbytes=1150976 wbytes=4096 rios=60 wios=1 dbytes=0 dios=0
type ioStat struct{ *devices }

func (s ioStat) parse(text []byte, into *Counters) {
	var read, written int64
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		device, fields, _ := bytes.Cut(line, blank)
		if s.onTop(device) {
			continue
		}
		for len(fields) > 0 {
			var field []byte
			field, fields, _ = bytes.Cut(fields, blank)
			key, value, _ := bytes.Cut(field, []byte("="))
			n, ok := parseInt(value)
			switch {
			case !ok:
			case string(key) == "rbytes":
				read += n
			case string(key) == "wbytes":
				written += n
			}
		}
	}
	into.Set(ReadBytes, read)
	into.Set(WriteBytes, written)
}

// throttle is blkio.throttle.io_service_bytes of v1. The kernel keeps it only
// once some throttling rule exists for the device, and shows "Total 0" until
// then: so zero is not measured.
//
//	254:0 Read 1150976
//	254:0 Write 4096
//	Total 1155072
type throttle struct{ *devices }

func (t throttle) parse(text []byte, into *Counters) {
	var read, written int64
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		device, rest, _ := bytes.Cut(line, blank)
		operation, value, _ := bytes.Cut(rest, blank)
		n, ok := parseInt(value)
		if !ok || t.onTop(device) {
			continue
		}
		switch string(operation) {
		case "Read":
			read += n
		case "Write":
			written += n
		}
	}
	if read+written > 0 {
		into.Set(ReadBytes, read)
		into.Set(WriteBytes, written)
	}
}
