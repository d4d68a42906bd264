package cgroup

import (
	"bytes"
	"os"
)

// member is a process of a Tree. Its stat file stays open, and so names this
// process for ever, even when its number is given to another.
type member struct {
	pid  int
	stat file
}

func openMember(host Host, pid int) (*member, error) {
	stat, err := openFile(host.proc(pid, "stat"))
	if err != nil {
		return nil, err
	}
	return &member{pid: pid, stat: stat}, nil
}

// Fields of /proc/PID/stat, counted from the one after the command's name.
const (
	statParent         = 1
	statUser           = 11
	statSystem         = 12
	statChildrenUser   = 13
	statChildrenSystem = 14
)

// times is the CPU time of a process and of those that it has waited for, in
// microseconds. Not ok: it is gone.
func (m *member) times(buffer *buffer) (user, system int64, ok bool) {
	text, err := buffer.read(m.stat)
	if err != nil {
		return 0, 0, false
	}
	fields, ok := statFields(text)
	if !ok {
		return 0, 0, false
	}
	user = (fields[statUser] + fields[statChildrenUser]) * tick
	system = (fields[statSystem] + fields[statChildrenSystem]) * tick
	return user, system, true
}

// statFields reads the numbers of /proc/PID/stat. The name before them may
// hold anything, even a closing bracket. The state, a letter, reads as 0.
func statFields(text []byte) (fields [statChildrenSystem + 1]int64, ok bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 || end+2 >= len(text) {
		return fields, false
	}
	rest := text[end+2:]
	for i := range fields {
		var word []byte
		word, rest, ok = bytes.Cut(rest, blank)
		if !ok {
			return fields, false
		}
		fields[i], _ = parseInt(word)
	}
	return fields, true
}

// memory reads private and shared memory in bytes. Not ok: gone, or a zombie.
func (m *member) memory(host Host) (anon, shmem int64, ok bool) {
	text, err := os.ReadFile(host.proc(m.pid, "status"))
	if err != nil {
		return 0, 0, false
	}
	anon, ok = statusBytes(text, "RssAnon:")
	if !ok {
		return 0, 0, false
	}
	shmem, ok = statusBytes(text, "RssShmem:")
	return anon, shmem, ok
}

// statusBytes finds a size in /proc/PID/status, "RssAnon:      2280 kB".
func statusBytes(text []byte, key string) (n int64, ok bool) {
	at := bytes.Index(text, []byte("\n"+key))
	if at < 0 {
		return 0, false
	}
	line, _ := cutLine(text[at+1+len(key):])
	number, unit := bytes.CutSuffix(bytes.TrimSpace(line), []byte(" kB"))
	n, ok = parseInt(number)
	return n << 10, ok && unit
}
