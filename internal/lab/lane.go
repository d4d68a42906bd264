package lab

import "time"

// Holder is an attempt that holds a lane, from its launch until nothing of it
// runs any more, whatever happens to the run's row.
type Holder struct {
	Lane    string
	Run     string
	Attempt int
	Cluster string
	// ClusterUID and Runtime are copied at launch: the row may be gone.
	ClusterUID string
	Runtime    string
	Since      time.Time
	// State of the run's row if it still is this attempt; empty when the row
	// was deleted or has moved on to another attempt.
	State string
}

// Tombstone is a deleted row whose objects are still to be removed.
type Tombstone struct {
	Kind    string // cluster, run
	Name    string
	UID     string // a cluster's uid; of a run its last attempt
	Runtime string // of a cluster
	Since   time.Time
}

// Dataset is what pgbench -i made on a cluster.
type Dataset struct {
	Scale         int
	ClientVersion string
	MadeAt        time.Time
}
