package lab

import "time"

// States of a row in lab.runs. A run that holds its lane is in one of the
// four active states.
const (
	RunQueued    = "queued"
	RunLaunched  = "launched"  // took its lane
	RunPreparing = "preparing" // pgbench -i, vacuum, checkpoint
	RunWarming   = "warming"   // the same load, not measured
	RunRunning   = "running"   // the timed part
	RunDone      = "done"      // complete summary, exit 0, transactions > 0, a window
	RunFailed    = "failed"    // message says why
	RunCanceled  = "canceled"  // by its user
)

// Active reports whether a run in this state holds its lane.
func Active(state string) bool {
	switch state {
	case RunLaunched, RunPreparing, RunWarming, RunRunning:
		return true
	}
	return false
}

// Run is one row of lab.runs: a pgbench run as its user asked for it, and
// the attempt that is under way.
type Run struct {
	Run            string
	Cluster        string
	Lane           string
	Scale          int
	Clients        int
	Threads        int
	Seconds        int
	WarmupSeconds  int
	Protocol       string  // simple, extended, prepared
	Builtin        string  // tpcb-like, simple-update, select-only; empty when Script is given
	Script         string  // pgbench script text
	Rate           float64 // transactions a second asked for; 0: as fast as possible
	Init           string  // auto, always, never
	ClientImage    string
	ClientVersion  string
	ClientCPU      string
	TimeoutSeconds int
	State          string
	Message        string
	Attempt        int
	StartedAt      time.Time // when the attempt took its lane
	WindowStart    time.Time // zero until known
	WindowEnd      time.Time
}
