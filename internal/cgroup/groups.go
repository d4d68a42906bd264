package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Group is the group of a process in one hierarchy.
type Group struct {
	Version     int      // 1 or 2
	Controllers []string // of a v1 hierarchy; nil for v2
	Path        string   // within the hierarchy: "/lab/pg16"
	Dir         string   // where its files are; empty when the group is not mounted here
	// Shared: the reading process is in this group too, or in one below it.
	// Its counters tell more than what the process used.
	Shared bool
}

// Groups are the groups of a process, one per hierarchy. They differ: the
// memory group may be another one than the CPU group.
type Groups []Group

// Groups finds the groups of a process. Nothing is guessed from names of
// directories: mountinfo and /proc/PID/cgroup are the whole truth. The error
// is fs.ErrNotExist when the process is gone.
func (h Host) Groups(pid int) (Groups, error) {
	mounts, err := h.Mounts()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(h.proc(pid, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("reading the groups of process %d: %w", pid, err)
	}
	groups := parseGroups(string(text))
	// A recorded tree has no reader inside.
	reader, _ := os.ReadFile(h.path("proc/self/cgroup"))
	readers := parseGroups(string(reader))
	for i := range groups {
		group := &groups[i]
		group.Dir = h.locate(mounts, *group)
		group.Shared = slices.ContainsFunc(readers, func(own Group) bool {
			return own.Version == group.Version && slices.Equal(own.Controllers, group.Controllers) &&
				within(own.Path, group.Path)
		})
	}
	return groups, nil
}

// parseGroups reads /proc/PID/cgroup, "hierarchy:controllers:path" a line.
func parseGroups(text string) Groups {
	var groups Groups
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		group := Group{Version: 1, Path: fields[2]}
		switch {
		case fields[0] == "0" && fields[1] == "":
			group.Version = 2
		case strings.Contains(fields[1], "="):
			continue // a named hierarchy has no controllers
		default:
			group.Controllers = strings.Split(fields[1], ",")
		}
		groups = append(groups, group)
	}
	return groups
}

// locate finds the directory of a group among the mounts, or "".
func (h Host) locate(mounts []Mount, group Group) string {
	for _, mount := range mounts {
		if mount.Version != group.Version || !within(group.Path, mount.Root) {
			continue
		}
		if group.Version == 1 && !containsAll(mount.Controllers, group.Controllers) {
			continue
		}
		dir := h.path(mount.Point, strings.TrimPrefix(group.Path, mount.Root))
		// One hierarchy may be mounted twice; a mount may hide another.
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// containsAll ignores order, which differs between mountinfo and /proc/PID/cgroup.
func containsAll(names, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(names, name) })
}

// within reports whether path is ancestor or lies below it. A path that
// begins with ".." is of a group outside the reader's namespace.
func within(path, ancestor string) bool {
	if strings.HasPrefix(path, "/..") {
		return false
	}
	return path == ancestor || strings.HasPrefix(path, strings.TrimSuffix(ancestor, "/")+"/")
}

// Of returns the group that holds a controller: the v1 hierarchy that has
// it, else the v2 group. Not ok: the group cannot be seen from here.
func (g Groups) Of(controller string) (group Group, ok bool) {
	for _, candidate := range g {
		if candidate.Version == 1 && slices.Contains(candidate.Controllers, controller) {
			return candidate, candidate.Dir != ""
		}
		if candidate.Version == 2 {
			group = candidate
		}
	}
	return group, group.Dir != ""
}
