package cgroup

import (
	"path/filepath"
	"strconv"
)

// Host is the machine whose counters are read. The zero value is this one;
// Root puts another directory in the place of "/", such as a recorded tree.
type Host struct {
	Root string
}

// path places an absolute path of the host below its root.
func (h Host) path(elements ...string) string {
	return filepath.Join(h.Root, "/", filepath.Join(elements...))
}

// proc is a file of a process.
func (h Host) proc(pid int, name string) string {
	return h.path("proc", strconv.Itoa(pid), name)
}
