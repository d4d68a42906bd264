package lab

import "time"

// Progress is one of pgbench's per-second lines. Nil: pgbench printed no
// meaningful figure (no transaction ended in that second).
type Progress struct {
	At        time.Time
	TPS       float64
	LatencyMS *float64
	StddevMS  *float64
	Failed    *int64
}

// Summary is what pgbench printed at its end, and the window that follows
// from it. Nil: not printed by this version or in this mode.
type Summary struct {
	ClientVersion    string // "15.18"
	TransactionType  string
	Scale            *int
	QueryMode        string
	Clients          int
	Threads          int
	Seconds          int
	Transactions     int64 // "actually processed"
	Failed           *int64
	Retried          *int64
	Skipped          *int64
	LatencyMS        *float64
	LatencyStddevMS  *float64
	ScheduleLagMS    *float64
	ScheduleLagMaxMS *float64
	ConnectMS        *float64 // initial connection time
	TPS              float64  // without initial connection time
	WindowStart      time.Time
	WindowEnd        time.Time
}
