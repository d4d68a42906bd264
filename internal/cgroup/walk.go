package cgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// childrenFile lists the children of a thread. Kernels without checkpointing
// do not have it.
func childrenFile(host Host, pid int, thread string) string {
	return host.path("proc", strconv.Itoa(pid), "task", thread, "children")
}

// eachPID calls found for every number of a children file.
func eachPID(text []byte, found func(pid int)) {
	for len(text) > 0 {
		var word []byte
		word, text, _ = bytes.Cut(text, blank)
		if pid, ok := parseInt(bytes.TrimSpace(word)); ok {
			found(int(pid))
		}
	}
}

// walk finds every descendant that lives now. A child belongs to the thread
// that made it, and programs in Go fork from any: all threads are asked.
func (t *Tree) walk() {
	pending := []int{t.root.pid}
	seen := map[int]bool{t.root.pid: true}
	for len(pending) > 0 {
		lists, _ := filepath.Glob(childrenFile(t.host, pending[0], "*"))
		pending = pending[1:]
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				continue // the thread ended since it was listed
			}
			eachPID(text, func(pid int) {
				if !seen[pid] {
					seen[pid] = true
					pending = append(pending, pid)
					t.adopt(pid)
				}
			})
		}
	}
}

// scan finds descendants by asking every process of the host for its parent,
// for kernels that do not list children.
func (t *Tree) scan() {
	entries, err := os.ReadDir(t.host.path("proc"))
	if err != nil {
		return
	}
	childrenOf := make(map[int][]int)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(t.host.proc(pid, "stat"))
		if err != nil {
			continue // it ended since it was listed
		}
		if fields, ok := statFields(text); ok {
			parent := int(fields[statParent])
			childrenOf[parent] = append(childrenOf[parent], pid)
		}
	}
	pending := []int{t.root.pid}
	seen := map[int]bool{t.root.pid: true}
	for len(pending) > 0 {
		children := childrenOf[pending[0]]
		pending = pending[1:]
		for _, pid := range children {
			// Numbers that were reused while we read could make a circle.
			if !seen[pid] {
				seen[pid] = true
				pending = append(pending, pid)
				t.adopt(pid)
			}
		}
	}
}
