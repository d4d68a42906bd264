package lab

import (
	"context"
	"io"
	"net"
	"time"
)

// Names inside every server under test, the same on every runtime.
// Its benchmark database is called like the cluster, so that
// current_database() is the name that the user connected to.
const (
	SuperUser = "postgres" // lab_admin's sessions, CHECKPOINT
	BenchUser = "bench"    // pgbench and lab_operator's sessions: owner of the database, pg_monitor
)

// ServerRef names a server under test.
type ServerRef struct {
	Name string
	UID  string
}

// ServerSpec is a checked lab.clusters row: what a Runtime is to make.
type ServerSpec struct {
	Lab        string // id of this lab; two labs on a host never touch each other's objects
	Name       string
	UID        string
	Version    string // "16", "17.10"; empty: the newest found
	Image      string
	Bindir     string
	CPU        int64 // thousandths of a CPU; 0: no limit
	Memory     int64 // bytes; 0: no limit
	Storage    int64 // bytes; 0: no limit
	Cpuset     string
	Parameters map[string]string
	Initdb     map[string]string
}

// Ref is the spec's name and uid.
func (s ServerSpec) Ref() ServerRef { return ServerRef{Name: s.Name, UID: s.UID} }

// Phases of a server.
const (
	ServerStarting = "starting"
	ServerReady    = "ready"   // a real connection succeeded
	ServerStopped  = "stopped" // it exists and does not run; Message says why
)

// Server is a server under test as its Runtime sees it.
type Server struct {
	Ref       ServerRef
	Phase     string
	Message   string    // why it is not ready, or what drifted from its spec
	Version   string    // server_version as the server reports it, once ready
	Endpoint  string    // where it listens, in words for people
	StartedAt time.Time // of this postmaster; a change inside a run fails the run
	Usage     UsageHandle
}

// Phases of a run that are tasks of their own.
const (
	TaskInit   = "init"
	TaskWarmup = "warmup"
	TaskBench  = "bench"
)

// TaskRef names one pgbench invocation.
type TaskRef struct {
	Run     string
	Attempt int
	Phase   string // init, warmup, bench
}

// TaskSpec is one pgbench invocation against a server.
type TaskSpec struct {
	Lab     string
	Ref     TaskRef
	Server  ServerRef
	Version string // major or version of the client; empty: the newest found
	Image   string
	CPU     int64 // thousandths of a CPU; 0: no limit
	// Args are pgbench's, without the program and without connection options:
	// the runtime knows how to reach the server. The database is the server's name.
	Args []string
	// Files are placed in the working directory of the task: file name -> content.
	Files map[string]string
}

// Streams of a task's output.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Task is one pgbench invocation as its Runtime sees it.
type Task struct {
	Ref       TaskRef
	Running   bool
	StartedAt time.Time // of pgbench itself
	ExitedAt  time.Time // zero while Running
	ExitCode  int       // valid when not Running and Signal is empty
	Signal    string    // "killed", ... when a signal ended it
	OOMKilled bool
	Message   string // why it could not run or was lost; empty otherwise
	Client    string // version of the pgbench that runs, "15.18"
	Usage     UsageHandle
}

// Sources of usage counters.
const (
	SourceCgroupV1 = "cgroup v1"
	SourceCgroupV2 = "cgroup v2"
	SourceProc     = "proc"
)

// UsageHandle says where counters are read. The zero value: nowhere.
type UsageHandle struct {
	Source string // one of the Source constants; "" when nothing can be read
	PID    int    // a live process inside; /proc/PID/cgroup names its groups, or it roots the process tree
}

// Health of a runtime on this host.
const (
	Undetected = "undetected" // the technology is not here
	Unhealthy  = "unhealthy"  // it is here and does not work
	Healthy    = "healthy"
)

// Probe is a runtime's answer to "do you work here".
type Probe struct {
	Health       string
	Message      string         // a sentence
	Capabilities map[string]any // as data: cpu_limit, memory_limit, usage, versions ...
}

// Object is something that carries a lab's id, for recovery and the orphan sweep.
type Object struct {
	Server *ServerRef // one of Server and Task is set
	Task   *TaskRef
	Since  time.Time // when it was made
}

// Runtime makes servers and tasks exist. Every method is idempotent and
// finds its objects by lab id, name and uid; none of them keeps state that a
// restarted process could not read back from the host.
type Runtime interface {
	// Probe says whether the technology works here.
	Probe(ctx context.Context) Probe

	// EnsureServer makes the server exist and accept connections, and
	// returns when it does. Equal spec: no-op. say, never nil, receives
	// progress in words ("running initdb"). A server that stopped is started again.
	// ErrInvalidSpec, ErrUnsupported and ErrConflict are final; other errors may pass.
	EnsureServer(ctx context.Context, spec ServerSpec, say func(string)) (Server, error)
	// InspectServer is cheap and changes nothing. ErrNotFound when absent.
	InspectServer(ctx context.Context, ref ServerRef) (Server, error)
	// RemoveServer stops the server and removes its data. Absent: success.
	RemoveServer(ctx context.Context, ref ServerRef) error
	// Dial opens a connection to the server's Postgres port. ErrNotFound, ErrUnavailable.
	Dial(ctx context.Context, ref ServerRef) (net.Conn, error)
	// ServerLog reads the server's log from a byte offset.
	ServerLog(ctx context.Context, ref ServerRef, offset int64) (io.ReadCloser, error)

	// StartTask starts pgbench and returns when it runs (not when it ends).
	// A task of this ref that exists already: no-op.
	StartTask(ctx context.Context, spec TaskSpec) (Task, error)
	// InspectTask is cheap and changes nothing. ErrNotFound when absent.
	InspectTask(ctx context.Context, ref TaskRef) (Task, error)
	// WaitTask returns when the task has ended, or with ctx's error.
	WaitTask(ctx context.Context, ref TaskRef) (Task, error)
	// TaskLog reads a stream of the task (Stdout, Stderr) from a byte offset.
	TaskLog(ctx context.Context, ref TaskRef, stream string, offset int64) (io.ReadCloser, error)
	// StopTask ends every process of the task; when it returns nil nothing
	// of it runs any more. Absent or ended: success.
	StopTask(ctx context.Context, ref TaskRef) error
	// RemoveTask stops the task and removes its files. Absent: success.
	RemoveTask(ctx context.Context, ref TaskRef) error

	// List returns every object of this lab on the host.
	List(ctx context.Context) ([]Object, error)
	// Watch sends a hint whenever a server may have changed. Hints only wake
	// the controller sooner; the channel closes when ctx ends.
	Watch(ctx context.Context) <-chan struct{}
	// Shutdown ends what must not outlive this process. Objects of a daemon
	// of its own (containers, pods, units) stay.
	Shutdown(ctx context.Context) error
}
