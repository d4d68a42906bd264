package cgroup

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Mount is one mounted hierarchy of control groups.
type Mount struct {
	Version     int      // 1 or 2
	Controllers []string // of a v1 hierarchy; nil for v2, which has one hierarchy for all
	Root        string   // the group that is seen at Point; "/" unless it is a part of the hierarchy
	Point       string   // mount point, absolute on the host
}

// Mounts lists the hierarchies that are mounted here. Which controllers share
// a mount, and where, differs between machines: nothing else tells.
func (h Host) Mounts() ([]Mount, error) {
	text, err := os.ReadFile(h.path("proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	var mounts []Mount
	for line := range strings.Lines(string(text)) {
		if mount, ok := parseMount(line); ok {
			mounts = append(mounts, mount)
		}
	}
	return mounts, nil
}

// parseMount reads a line of mountinfo; other file systems are not ok.
//
//	31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:5 - cgroup cgroup rw,cpu
func parseMount(line string) (mount Mount, ok bool) {
	// The number of fields before the dash varies.
	before, after, found := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !found || len(left) < 5 || len(right) < 3 {
		return Mount{}, false
	}
	mount = Mount{Root: unescape(left[3]), Point: unescape(left[4])}
	switch right[0] {
	case "cgroup2":
		mount.Version = 2
	case "cgroup":
		mount.Version = 1
		mount.Controllers = slices.DeleteFunc(strings.Split(right[2], ","), isMountOption)
	default:
		return Mount{}, false
	}
	return mount, true
}

// isMountOption tells options of a v1 mount from names of controllers.
func isMountOption(word string) bool {
	switch word {
	case "rw", "ro", "none", "xattr", "clone_children", "noprefix", "seclabel", "cpuset_v2_mode", "favordynmods":
		return true
	}
	return strings.Contains(word, "=")
}

// unescape undoes mountinfo's octal escapes of blank, tab, newline and backslash.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
