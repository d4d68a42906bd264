package cgroup

// Counter names one number that the kernel keeps about a group of processes.
type Counter int

// Cumulative counters only grow; usage over a window is their difference.
// Gauges, from MemoryBytes on, say what is in use now.
const (
	CPUUsec            Counter = iota // user + system, microseconds
	UserUsec                          // microseconds
	SystemUsec                        // microseconds
	Periods                           // enforcement periods of the CPU quota
	ThrottledPeriods                  // periods in which the quota ran out
	ThrottledUsec                     // microseconds, summed over CPUs
	ReadBytes                         // from block devices
	WriteBytes                        // to block devices
	CPUPressureUsec                   // microseconds in which some task waited for a CPU
	IOPressureUsec                    // the same for I/O
	MemoryPressureUsec                // the same for memory
	OOMKills                          // processes that the OOM killer ended
	MemoryBytes                       // everything charged, page cache included
	AnonBytes                         // private memory of processes
	FileBytes                         // page cache without shared memory
	ShmemBytes                        // shared memory: shared_buffers, tmpfs
	KernelBytes                       // page tables, slab, stacks
	NumCounters                       // how many there are
)

var counterNames = [NumCounters]string{
	CPUUsec:            "cpu_usec",
	UserUsec:           "user_usec",
	SystemUsec:         "system_usec",
	Periods:            "periods",
	ThrottledPeriods:   "throttled_periods",
	ThrottledUsec:      "throttled_usec",
	ReadBytes:          "read_bytes",
	WriteBytes:         "write_bytes",
	CPUPressureUsec:    "cpu_pressure_usec",
	IOPressureUsec:     "io_pressure_usec",
	MemoryPressureUsec: "memory_pressure_usec",
	OOMKills:           "oom_kills",
	MemoryBytes:        "memory_bytes",
	AnonBytes:          "anon_bytes",
	FileBytes:          "file_bytes",
	ShmemBytes:         "shmem_bytes",
	KernelBytes:        "kernel_bytes",
}

// String is the counter's name with its unit: "cpu_usec".
func (c Counter) String() string {
	if c < 0 || c >= NumCounters {
		return "unknown counter"
	}
	return counterNames[c]
}

// Gauge reports whether the counter goes up and down.
func (c Counter) Gauge() bool { return c >= MemoryBytes }

// Counters is one reading. The zero value has nothing measured.
type Counters struct {
	measured uint32 // bit per counter
	values   [NumCounters]int64
}

// Get returns a counter, and whether it was measured. The number of one that
// was not measured means nothing.
func (c *Counters) Get(which Counter) (n int64, measured bool) {
	return c.values[which], c.measured&(1<<which) != 0
}

// Set makes a counter measured.
func (c *Counters) Set(which Counter, n int64) {
	c.values[which] = n
	c.measured |= 1 << which
}

// Unset makes a counter not measured.
func (c *Counters) Unset(which Counter) {
	c.values[which] = 0
	c.measured &^= 1 << which
}

// onlyGauges reports whether something was measured and nothing of it only grows.
func (c *Counters) onlyGauges() bool {
	for which := range NumCounters {
		if _, measured := c.Get(which); measured && !which.Gauge() {
			return false
		}
	}
	return !c.Empty()
}

// Empty reports whether nothing was measured.
func (c *Counters) Empty() bool { return c.measured == 0 }
