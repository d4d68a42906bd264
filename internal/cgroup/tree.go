package cgroup

import (
	"fmt"
	"strconv"
	"time"
)

// Tree reads what a process and its descendants used from /proc, for hosts
// where nobody may make control groups. It is coarse:
//
//   - CPU comes in steps of 10 ms per process. That of a process which ended
//     counts once its parent has waited for it.
//   - A process that left its parent before it was seen is missed; so is,
//     for up to a second, a new one that is not a child of the root's first thread.
//   - Memory is read once a second. Private memory is summed, pages still
//     shared since fork too; shared memory is that of the process which has
//     touched most of it.
//   - Everything else is not measured.
//
// It is for one goroutine.
type Tree struct {
	host    Host
	root    *member
	others  map[int]*member
	kids    *file // children of the root's first thread; nil where the kernel does not list them
	buffer  buffer
	scanned time.Time // last time that every process was asked for its children
	memory  Counters
	user    int64 // highest so far, microseconds
	system  int64
}

// rescan is how often the whole tree is walked. A walk costs a few
// microseconds per process, or per process of the host on kernels that do not
// list children.
const rescan = time.Second

// OpenTree starts to read the tree below a process. The error is
// fs.ErrNotExist when it is gone.
func OpenTree(host Host, pid int) (*Tree, error) {
	root, err := openMember(host, pid)
	if err != nil {
		return nil, fmt.Errorf("reading process %d: %w", pid, err)
	}
	tree := &Tree{host: host, root: root, others: make(map[int]*member)}
	if kids, err := openFile(childrenFile(host, pid, strconv.Itoa(pid))); err == nil {
		tree.kids = &kids
	}
	return tree, nil
}

// Read replaces what is in into by what the tree used so far. ErrVanished
// when its root is gone: descendants that remain are nobody's.
func (t *Tree) Read(into *Counters) error {
	*into = Counters{}
	// The root first: a child that ends meanwhile is missed until the next
	// reading. The other way round it would count twice.
	user, system, ok := t.root.times(&t.buffer)
	if !ok {
		return ErrVanished
	}
	t.follow()
	for pid, member := range t.others {
		memberUser, memberSystem, ok := member.times(&t.buffer)
		if !ok {
			member.stat.close()
			delete(t.others, pid)
			continue
		}
		user, system = user+memberUser, system+memberSystem
	}
	t.user, t.system = max(t.user, user), max(t.system, system)
	into.Set(UserUsec, t.user)
	into.Set(SystemUsec, t.system)
	into.Set(CPUUsec, t.user+t.system)
	for _, gauge := range []Counter{AnonBytes, ShmemBytes} {
		if n, measured := t.memory.Get(gauge); measured {
			into.Set(gauge, n)
		}
	}
	return nil
}

// follow takes new processes in: children of the root at every reading, all
// others once in a while.
func (t *Tree) follow() {
	if t.kids != nil {
		if text, err := t.buffer.read(*t.kids); err == nil {
			eachPID(text, t.adopt)
		}
	}
	if now := time.Now(); now.Sub(t.scanned) >= rescan {
		t.scanned = now
		if t.kids != nil {
			t.walk()
		} else {
			t.scan()
		}
		t.measureMemory()
	}
}

// adopt takes a process in, unless it is known.
func (t *Tree) adopt(pid int) {
	if _, known := t.others[pid]; known || pid == t.root.pid {
		return
	}
	// It may have ended since it was listed.
	if member, err := openMember(t.host, pid); err == nil {
		t.others[pid] = member
	}
}

// measureMemory sums private memory and takes the largest share of shared memory.
func (t *Tree) measureMemory() {
	var anon, shmem int64
	var measured bool
	add := func(member *member) {
		if own, shared, ok := member.memory(t.host); ok {
			anon, shmem, measured = anon+own, max(shmem, shared), true
		}
	}
	add(t.root)
	for _, member := range t.others {
		add(member)
	}
	t.memory = Counters{}
	if measured {
		t.memory.Set(AnonBytes, anon)
		t.memory.Set(ShmemBytes, shmem)
	}
}

// Close closes the files. The tree is of no use afterwards.
func (t *Tree) Close() error {
	t.root.stat.close()
	if t.kids != nil {
		t.kids.close()
	}
	for pid, member := range t.others {
		member.stat.close()
		delete(t.others, pid)
	}
	return nil
}
