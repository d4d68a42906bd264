package lab

// LogLine is one row of lab.logs.
type LogLine struct {
	Line int64 // from 1
	Text string
}
