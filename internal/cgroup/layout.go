package cgroup

// place is one counter file: in which group it lies, its name, what is in it.
type place struct {
	version    int
	controller string
	name       string
	format     format
}

const (
	nanosecond = 1000  // per microsecond
	tick       = 10000 // microseconds; USER_HZ is 100 wherever Linux runs
)

// places lists every counter file, CPU first: a reading's time is taken just
// before. Files of a controller that is not enabled do not exist.
func places(devices *devices) []place {
	return append(v1Places(devices), v2Places(devices)...)
}

// v1Places leaves usage_user and usage_sys out: the kernel samples them by
// tick, and they do not add up to usage; cpuacct.stat does.
func v1Places(devices *devices) []place {
	return []place{
		{1, "cpuacct", "cpuacct.usage", single{CPUUsec, nanosecond}},
		{1, "cpuacct", "cpuacct.stat", table{
			{"user", UserUsec, tick, 1},
			{"system", SystemUsec, tick, 1},
		}},
		{1, "cpu", "cpu.stat", table{
			{"nr_periods", Periods, 1, 1},
			{"nr_throttled", ThrottledPeriods, 1, 1},
			{"throttled_time", ThrottledUsec, 1, nanosecond},
		}},
		{1, "memory", "memory.usage_in_bytes", single{MemoryBytes, 1}},
		{1, "memory", "memory.stat", memoryStat{
			{"total_rss", AnonBytes, 1, 1},
			{"total_cache", FileBytes, 1, 1},
			{"total_shmem", ShmemBytes, 1, 1},
		}},
		{1, "memory", "memory.kmem.usage_in_bytes", single{KernelBytes, 1}},
		{1, "memory", "memory.oom_control", table{{"oom_kill", OOMKills, 1, 1}}},
		{1, "blkio", "blkio.throttle.io_service_bytes_recursive", throttle{devices}},
	}
}

func v2Places(devices *devices) []place {
	return []place{
		{2, "cpu", "cpu.stat", table{
			{"usage_usec", CPUUsec, 1, 1},
			{"user_usec", UserUsec, 1, 1},
			{"system_usec", SystemUsec, 1, 1},
			{"nr_periods", Periods, 1, 1},
			{"nr_throttled", ThrottledPeriods, 1, 1},
			{"throttled_usec", ThrottledUsec, 1, 1},
		}},
		{2, "memory", "memory.current", single{MemoryBytes, 1}},
		{2, "memory", "memory.stat", memoryStat{
			{"anon", AnonBytes, 1, 1},
			{"file", FileBytes, 1, 1},
			{"shmem", ShmemBytes, 1, 1},
			{"kernel", KernelBytes, 1, 1},
		}},
		{2, "memory", "memory.events", table{{"oom_kill", OOMKills, 1, 1}}},
		{2, "io", "io.stat", ioStat{devices}},
		{2, "cpu", "cpu.pressure", pressure(CPUPressureUsec)},
		{2, "io", "io.pressure", pressure(IOPressureUsec)},
		{2, "memory", "memory.pressure", pressure(MemoryPressureUsec)},
	}
}
