package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReaderReadsRecordedTrees(t *testing.T) {
	for _, test := range []struct {
		tree    string
		version int
		want    map[string]int64 // and nothing else: what is absent is not measured
	}{
		{"v1", 1, map[string]int64{
			"cpu_usec": 516939, "user_usec": 410000, "system_usec": 110000,
			"periods": 25, "throttled_periods": 24, "throttled_usec": 1776062,
			"memory_bytes": 22294528, "anon_bytes": 294912, "file_bytes": 20000000, "shmem_bytes": 1200896,
			"kernel_bytes": 765952, "oom_kills": 3,
		}},
		{"v1_throttled", 1, map[string]int64{"cpu_usec": 1000, "read_bytes": 1150976, "write_bytes": 95420416}},
		{"v2", 2, map[string]int64{
			"cpu_usec": 5169390, "user_usec": 4100000, "system_usec": 1069390,
			"periods": 250, "throttled_periods": 12, "throttled_usec": 176062,
			"memory_bytes": 155975680, "anon_bytes": 12345344, "file_bytes": 39845888, "shmem_bytes": 100663296,
			"kernel_bytes": 3121152, "oom_kills": 1, "read_bytes": 1150976, "write_bytes": 95420416,
			"cpu_pressure_usec": 48000639, "io_pressure_usec": 1200, "memory_pressure_usec": 0,
		}},
		{"v2_bare", 2, map[string]int64{"cpu_usec": 1, "user_usec": 1, "system_usec": 0}},
		// An empty io.stat is the one file whose emptiness means zero.
		{"v2_odd", 2, map[string]int64{"cpu_usec": 77, "anon_bytes": 4096, "read_bytes": 0, "write_bytes": 0}},
		// The memory group is that of the whole session.
		{"hybrid", 1, map[string]int64{"cpu_usec": 516939, "cpu_pressure_usec": 4800}},
		{"part", 2, map[string]int64{"cpu_usec": 18}},
	} {
		t.Run(test.tree, func(t *testing.T) {
			reader, err := Open(recorded(t, test.tree), 100)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			var counters Counters
			if err := reader.Read(&counters); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, named(&counters)); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			if reader.Version() != test.version {
				t.Errorf("version %d, want %d", reader.Version(), test.version)
			}
		})
	}
}

func TestOpenSaysWhyNothingCanBeRead(t *testing.T) {
	for _, test := range []struct {
		name string
		tree string
		pid  int
		want string
	}{
		{"the reader is below the group", "shared", 100, "pglab itself is in its group /session"},
		{"outside the mounted part", "part", 200, "no counters of process 200 can be read"},
		{"outside the namespace", "part", 300, "no counters of process 300 can be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(recorded(t, test.tree), test.pid)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	t.Run("no such process", func(t *testing.T) {
		if _, err := Open(recorded(t, "v2"), 4711); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want fs.ErrNotExist", err)
		}
	})
}

func TestReaderDoesNotKeepOldNumbers(t *testing.T) {
	host := recorded(t, "v2")
	reader, err := Open(host, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	dir := host.path("sys/fs/c group/system.slice/pglab-pg17.service")
	// Kept descriptors see the same files shrink to nothing.
	for _, name := range []string{"cpu.stat", "memory.current", "memory.stat", "memory.events", "cpu.pressure", "io.pressure", "memory.pressure"} {
		if err := os.Truncate(dir+"/"+name, 0); err != nil {
			t.Fatal(err)
		}
	}
	var counters Counters
	if err := reader.Read(&counters); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"read_bytes": 1150976, "write_bytes": 95420416}
	if diff := cmp.Diff(want, named(&counters)); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestBufferGrowsToTheFile(t *testing.T) {
	host := recorded(t, "v2_bare")
	var lines strings.Builder
	for lines.Len() < 40_000 {
		lines.WriteString("some_future_key 1\n")
	}
	write(t, host.path("sys/fs/cgroup/user.slice/lab/memory.stat"), lines.String()+"anon 7\n")
	reader, err := Open(host, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var counters Counters
	if err := reader.Read(&counters); err != nil {
		t.Fatal(err)
	}
	if n, measured := counters.Get(AnonBytes); !measured || n != 7 {
		t.Errorf("anon_bytes %d, measured %v; want 7 from the last line", n, measured)
	}
}
