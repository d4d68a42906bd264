package cgroup

import (
	"errors"
	"fmt"
	"slices"
)

// ErrVanished is returned by a reading that found nothing to read any more.
var ErrVanished = errors.New("nothing left to count: the group or the process is gone")

// Reader reads the counters of a process's groups. It is for one goroutine.
type Reader struct {
	version int
	files   []openPlace
	buffer  buffer
}

type openPlace struct {
	file   file
	format format
	gauges bool // it holds nothing that only grows
}

// Open finds the groups of a process and keeps their counter files open. A
// group that the reading process shares is left out: its counters would tell
// more than what the process used. The error says so when nothing remains;
// it is fs.ErrNotExist when the process is gone.
func Open(host Host, pid int) (*Reader, error) {
	groups, err := host.Groups(pid)
	if err != nil {
		return nil, err
	}
	reader := &Reader{}
	for _, place := range places(&devices{host: host, stacked: make(map[string]bool)}) {
		if group, ok := groups.holding(place); ok && !group.Shared {
			reader.open(group.Dir+"/"+place.name, place)
		}
	}
	if len(reader.files) > 0 {
		return reader, nil
	}
	for _, group := range groups {
		if group.Shared {
			return nil, fmt.Errorf("process %d has no control group of its own: pglab itself is in its group %s", pid, group.Path)
		}
	}
	return nil, fmt.Errorf("no counters of process %d can be read in the control groups that are mounted here", pid)
}

// holding finds the group whose directory a file is in.
func (g Groups) holding(place place) (Group, bool) {
	for _, group := range g {
		if group.Version == place.version && group.Dir != "" &&
			(group.Version == 2 || slices.Contains(group.Controllers, place.controller)) {
			return group, true
		}
	}
	return Group{}, false
}

// open adds a file. One that cannot be read now stays away for good: its
// controller or pressure accounting is off.
func (r *Reader) open(path string, place place) {
	opened, err := openFile(path)
	if err != nil {
		return
	}
	text, err := r.buffer.read(opened)
	if err != nil {
		opened.close()
		return
	}
	var counters Counters
	place.format.parse(text, &counters)
	if _, cpu := counters.Get(CPUUsec); cpu {
		if r.version != 0 {
			opened.close() // cpu.stat of v2 beside cpuacct of v1: the same time again
			return
		}
		r.version = place.version
	}
	r.files = append(r.files, openPlace{opened, place.format, counters.onlyGauges()})
}

// Version is the version of the hierarchy that counts CPU, 0 when none does.
func (r *Reader) Version() int { return r.version }

// Read replaces what is in into by what the files say now. ErrVanished when
// not one of them can be read any more.
func (r *Reader) Read(into *Counters) error { return r.read(into, true) }

// ReadCounters is Read without the files that hold gauges only. The kernel
// works longest on memory.stat, which nobody needs fifty times a second.
func (r *Reader) ReadCounters(into *Counters) error { return r.read(into, false) }

func (r *Reader) read(into *Counters, gauges bool) error {
	*into = Counters{}
	for _, opened := range r.files {
		if opened.gauges && !gauges {
			continue
		}
		if text, err := r.buffer.read(opened.file); err == nil {
			opened.format.parse(text, into)
		}
	}
	if into.Empty() {
		return ErrVanished
	}
	return nil
}

// Close closes the files. The reader is of no use afterwards.
func (r *Reader) Close() error {
	for _, opened := range r.files {
		opened.file.close()
	}
	r.files = nil
	return nil
}
