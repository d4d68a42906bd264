package cgroup

import (
	"errors"
	"io/fs"
	"math"
	"testing"
)

// A busy grandchild, and short-lived children that the shell waits for.
const family = `(sh -c 'while :; do :; done'; true) & while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done`

func TestTreeAgreesWithTheGroup(t *testing.T) {
	work := start(t, versions(t)[0], family)
	reader, err := Open(Host{}, work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tree, err := OpenTree(Host{}, work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	var group, proc Counters
	var last int64
	until(t, "the group has used 400 ms", func() bool {
		if err := tree.Read(&proc); err != nil {
			t.Fatal(err)
		}
		if err := reader.Read(&group); err != nil {
			t.Fatal(err)
		}
		used := get(t, &proc, CPUUsec)
		if used < last {
			t.Fatalf("CPU time of the tree fell from %d to %d us", last, used)
		}
		last = used
		return get(t, &group, CPUUsec) > 400_000
	})
	// Ticks of 10 ms for each of the few processes, and one child at most
	// that nobody has waited for yet.
	exact := get(t, &group, CPUUsec)
	t.Logf("tree %d us, group %d us", last, exact)
	if difference := math.Abs(float64(last - exact)); difference > 150_000 {
		t.Errorf("the tree says %d us, its group %d us", last, exact)
	}
	if anon := get(t, &proc, AnonBytes); anon < 4096 {
		t.Errorf("private memory %d bytes", anon)
	}
	get(t, &proc, ShmemBytes)
	if n, measured := proc.Get(MemoryBytes); measured {
		t.Errorf("memory_bytes %d is not measured here and must say so", n)
	}

	work.end(t)
	if err := tree.Read(&proc); !errors.Is(err, ErrVanished) || !proc.Empty() {
		t.Errorf("reading a dead tree: %v and %v, want ErrVanished and nothing", err, named(&proc))
	}
}

func TestTreeFindsDescendantsOnKernelsThatDoNotListChildren(t *testing.T) {
	work := start(t, versions(t)[0], `sh -c 'sleep 60; true' & wait`)
	tree, err := OpenTree(Host{}, work.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	until(t, "child and grandchild are found", func() bool {
		tree.scan()
		return len(tree.others) == 2
	})
}

func TestTreeOfNoProcess(t *testing.T) {
	if _, err := OpenTree(Host{Root: t.TempDir()}, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestStatFieldsSurviveNames(t *testing.T) {
	fields, ok := statFields([]byte("12 (a) R (b) S 7 12 12 0 -1 4194560 1 0 0 0 31 32 33 34 20 0 1 0 99 1\n"))
	if !ok || fields[statParent] != 7 || fields[statUser] != 31 || fields[statChildrenSystem] != 34 {
		t.Errorf("got %v %v", fields, ok)
	}
	for _, text := range []string{"", "12 (sh", "12 (sh) S 7 12"} {
		if _, ok := statFields([]byte(text)); ok {
			t.Errorf("%q was taken for a process", text)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	work := start(b, versions(b)[0], "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done; wait")
	tree, err := OpenTree(Host{}, work.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	b.ReportAllocs()
	var counters Counters
	for b.Loop() {
		if err := tree.Read(&counters); err != nil {
			b.Fatal(err)
		}
	}
}
