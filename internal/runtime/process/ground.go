package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pglab/internal/cgroup"
	"pglab/internal/lab"
)

// ground is where control groups of ours can be made: a directory of this
// lab in each v1 hierarchy, or one in the v2 hierarchy.
type ground struct {
	version int               // 1 or 2; 0: nowhere
	dirs    map[string]string // controller -> our directory. On v2 one directory for all, under "" too
	trouble string            // in words, why limits or groups are missing
}

// wanted are the controllers that help. Everything joins those of v1 but
// cpuset, which only those join that asked for it.
var wanted = []string{"cpu", "cpuacct", "memory", "freezer", "blkio", "pids", "cpuset"}

// prepareGround finds out where groups can be made, and makes this lab's
// directories there.
func prepareGround(host cgroup.Host, labID string) *ground {
	own, err := host.Groups(os.Getpid())
	if err != nil {
		return &ground{trouble: err.Error()}
	}
	name := "pglab-" + labID
	if hasV1Controllers(own) {
		return prepareV1(own, name)
	}
	return prepareV2(host, own, name)
}

func hasV1Controllers(own cgroup.Groups) bool {
	return slices.ContainsFunc(own, func(group cgroup.Group) bool {
		return group.Version == 1 && slices.ContainsFunc(group.Controllers, func(controller string) bool {
			return controller == "cpu" || controller == "cpuacct" || controller == "memory"
		})
	})
}

// prepareV1 makes our directory below our own group in each hierarchy. These
// differ: the memory group may be another one than the CPU group.
func prepareV1(own cgroup.Groups, name string) *ground {
	g := &ground{version: 1, dirs: make(map[string]string)}
	var problems []string
	for _, controller := range wanted {
		group, visible := own.Of(controller)
		if group.Version != 1 {
			continue
		}
		if !visible {
			problems = append(problems, controller+": its hierarchy is not mounted here")
			continue
		}
		dir := filepath.Join(group.Dir, name)
		if err := makeGroupDir(dir); err != nil {
			problems = append(problems, controller+": "+err.Error())
			continue
		}
		if controller == "cpuset" {
			_ = os.Remove(dir) // few ask for it: made when somebody does
		}
		g.dirs[controller] = dir
	}
	g.trouble = strings.Join(problems, "; ")
	if len(g.dirs) == 0 {
		g.version, g.trouble = 0, "no cgroup is ours to write: "+problems[0]
	}
	return g
}

// gatewayGroup is where we move to ourselves on v2 when we share our group
// with what is to come: a group with processes cannot hand controllers down.
const gatewayGroup = "pglab-gateway"

// prepareV2 makes our directory at the top of the hierarchy when that is ours
// to write (root on a host), else in our own group when that was delegated to us.
func prepareV2(host cgroup.Host, own cgroup.Groups, name string) *ground {
	at := slices.IndexFunc(own, func(group cgroup.Group) bool { return group.Version == 2 && group.Dir != "" })
	if at < 0 {
		return &ground{trouble: "no cgroup hierarchy is mounted here"}
	}
	base, top := own[at].Dir, topOf(host)
	switch {
	case top != "" && writable(top) == nil:
		base = top
	case filepath.Base(base) == gatewayGroup:
		base = filepath.Dir(base)
	}
	if err := writable(base); err != nil {
		return &ground{trouble: fmt.Sprintf("the cgroup %s was not delegated to us: %v", base, err)}
	}
	if base != top {
		if err := moveAside(base); err != nil {
			return &ground{trouble: err.Error()}
		}
	}
	dir := filepath.Join(base, name)
	enabled, problems := handDown(base)
	if err := makeGroupDir(dir); err != nil {
		return &ground{trouble: err.Error()}
	}
	if len(enabled) > 0 {
		enabled, problems = handDown(dir)
	}
	g := &ground{version: 2, dirs: map[string]string{"": dir}, trouble: strings.Join(problems, "; ")}
	for _, controller := range enabled {
		g.dirs[controller] = dir
	}
	return g
}

// topOf is the root of the v2 hierarchy when it is mounted here. Only the real
// root has no type; that of a container's namespace has one.
func topOf(host cgroup.Host) string {
	mounts, err := host.Mounts()
	if err != nil {
		return ""
	}
	for _, mount := range mounts {
		dir := filepath.Join("/", host.Root, mount.Point)
		if mount.Version != 2 {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
			return dir
		}
	}
	return ""
}

func writable(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS)
}

// moveAside moves every process of a delegated group, ourselves among them,
// into a group below it.
func moveAside(base string) error {
	aside := filepath.Join(base, gatewayGroup)
	if err := makeGroupDir(aside); err != nil {
		return err
	}
	pids, err := readProcs(base)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		err := writeFile(filepath.Join(aside, "cgroup.procs"), strconv.Itoa(pid))
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("moving process %d aside: %w", pid, err)
		}
	}
	return nil
}

// handDown lets groups below dir have the controllers that dir has itself.
func handDown(dir string) (enabled, problems []string) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, []string{err.Error()}
	}
	available := strings.Fields(string(text))
	for _, controller := range wanted {
		if controller == "blkio" {
			controller = "io" // its name on v2
		}
		if !slices.Contains(available, controller) {
			continue
		}
		if err := writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+controller); err != nil {
			problems = append(problems, controller+": "+err.Error())
			continue
		}
		enabled = append(enabled, controller)
	}
	return enabled, problems
}

func makeGroupDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making cgroup: %w", err)
	}
	return nil
}

// has reports whether groups of ours can be limited by a controller.
func (g *ground) has(controller string) bool { return g.dirs[controller] != "" }

// source is where the usage of what runs in groups of ours is read.
func (g *ground) source() string {
	switch g.version {
	case 1:
		return lab.SourceCgroupV1
	case 2:
		return lab.SourceCgroupV2
	}
	return lab.SourceProc
}

// String says in words what groups offer here.
func (g *ground) String() string {
	if g.version == 0 {
		return "no limits, and usage from /proc: " + g.trouble
	}
	var limits []string
	for _, controller := range []string{"cpu", "memory", "cpuset"} {
		if g.has(controller) {
			limits = append(limits, controller)
		}
	}
	if len(limits) == 0 {
		return fmt.Sprintf("usage and no limits through %s", g.source())
	}
	return fmt.Sprintf("usage and limits of %s through %s", strings.Join(limits, ", "), g.source())
}

// remove removes this lab's directories, which are empty by now.
func (g *ground) remove() error {
	var problems []error
	for _, dir := range g.distinct() {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("removing cgroup: %w", err))
		}
	}
	return errors.Join(problems...)
}

// removeGroup removes a group, and the lab's directory around it when that is
// of an earlier pglab that was started elsewhere and had other ground.
func (g *ground) removeGroup(ctx context.Context, group group) error {
	if err := group.remove(ctx); err != nil {
		return err
	}
	ours := g.distinct()
	for _, dir := range group.distinct() {
		if parent := filepath.Dir(dir); !slices.Contains(ours, parent) {
			_ = os.Remove(parent) // refused while there are others in it
		}
	}
	return nil
}

// distinct lists our directories once each: hierarchies may hold several controllers.
func (g *ground) distinct() []string { return distinct(g.dirs) }

func distinct(dirs map[string]string) []string {
	var all []string
	for _, dir := range dirs {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return all
}
