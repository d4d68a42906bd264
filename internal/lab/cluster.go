package lab

import "time"

// States of a row in lab.clusters. Every row is in exactly one of them.
const (
	ClusterPending  = "pending"  // accepted, nothing done yet
	ClusterCreating = "creating" // the runtime is at work
	ClusterReady    = "ready"    // accepts connections
	ClusterFailed   = "failed"   // message says why and what to do
)

// Cluster is one row of lab.clusters: a server under test as its user asked
// for it. Quantities are the user's text; Spec parses them.
type Cluster struct {
	Name          string
	UID           string // of this row, never of the name: a name can come again
	Runtime       string // docker, kubernetes, systemd or process
	Version       string // "16", "17.10"; empty: the newest found
	Image         string
	Bindir        string // directory of a build of one's own
	CPU           string // "500m", "2"; empty: no limit
	Memory        string // "512Mi", "512MB"; empty: no limit
	Storage       string
	Cpuset        string // "0-1,3"; empty: every CPU
	Parameters    map[string]string
	Initdb        map[string]string
	State         string
	Message       string
	ServerVersion string
	CreatedAt     time.Time
}

// Spec parses the cluster's quantities for a Runtime. The error names the
// column and wraps ErrInvalidSpec.
func (c Cluster) Spec(labID string) (ServerSpec, error) {
	spec := ServerSpec{
		Lab: labID, Name: c.Name, UID: c.UID,
		Version: c.Version, Image: c.Image, Bindir: c.Bindir, Cpuset: c.Cpuset,
		Parameters: c.Parameters, Initdb: c.Initdb,
	}
	var err error
	if spec.CPU, err = ParseCPU(c.CPU); err != nil {
		return ServerSpec{}, InvalidSpec("cpu: %w", err)
	}
	if spec.Memory, err = ParseBytes(c.Memory); err != nil {
		return ServerSpec{}, InvalidSpec("memory: %w", err)
	}
	if spec.Storage, err = ParseBytes(c.Storage); err != nil {
		return ServerSpec{}, InvalidSpec("storage: %w", err)
	}
	return spec, nil
}
