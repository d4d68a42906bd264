package lab

import "time"

// Outcome is how an attempt ended and what was measured. Summary and the
// usages are the zero value for an attempt that came to no measurement.
type Outcome struct {
	State         string // done, failed, canceled
	Message       string // why it is not done
	Summary       *Summary
	TaskStartedAt time.Time // of the timed pgbench; zero when it never started
	Server        Usage
	Client        Usage
	Warnings      []string
}
