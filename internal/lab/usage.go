package lab

import "time"

// Roles of usage rows.
const (
	RolePostgres = "postgres"
	RolePgbench  = "pgbench"
)

// Sample is one row of lab.usage: what a server or client used over the
// second that ends at SampledAt. Nil: not measured.
type Sample struct {
	Role              string
	SampledAt         time.Time
	WindowS           float64
	CPUCores          *float64
	MemoryBytes       *int64
	AnonBytes         *int64
	FileBytes         *int64
	ShmemBytes        *int64
	ReadBytes         *int64
	WriteBytes        *int64
	ThrottledMS       *float64
	CPUPressurePct    *float64
	IOPressurePct     *float64
	MemoryPressurePct *float64
}

// Usage is what a server or client used over the exact window of a run:
// counter(end) - counter(start), and peaks inside the window. Nil: not measured.
type Usage struct {
	Source            string
	CPUSeconds        *float64
	UserSeconds       *float64
	SystemSeconds     *float64
	CPUAvg            *float64 // cores
	CPUPeak           *float64 // cores, highest over one second inside the window
	Periods           *int64
	ThrottledPeriods  *int64
	ThrottledMS       *float64
	MemoryPeakBytes   *int64
	AnonPeakBytes     *int64
	FilePeakBytes     *int64
	ShmemPeakBytes    *int64
	ReadBytes         *int64
	WriteBytes        *int64
	CPUPressurePct    *float64
	IOPressurePct     *float64
	MemoryPressurePct *float64
	OOMKills          *int64
	Samples           int     // readings inside the window
	EdgeGapMS         float64 // the wider of the two gaps between readings around the window's edges
}
