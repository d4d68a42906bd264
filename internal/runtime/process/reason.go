package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"pglab/internal/lab"
	"pglab/internal/postgres"
)

// stoppedByUs is why a server does not run that Shutdown stopped: nothing
// that anybody needs to be told.
const stoppedByUs = "stopped together with pglab"

// watchChild writes down how a postmaster of ours ends: nobody else will know.
func (r *Runtime) watchChild(ref lab.ServerRef, child *postgres.Child) {
	r.mu.Lock()
	r.children[child.Identity] = child
	r.mu.Unlock()
	r.changed.tell()
	r.watchers.Go(func() {
		<-child.Done()
		r.changed.tell()
		unlock, err := r.locks.lock(context.Background(), r.serverDir(ref))
		if err != nil {
			return
		}
		defer unlock()
		record, err := r.loadServer(ref)
		if err == nil && record.Postmaster == child.Identity && record.Stopped == "" {
			record.Stopped = r.whyStopped(record)
			if err := r.saveServer(record); err != nil {
				r.Log.Warn("end of server not recorded", "cluster", ref.Name, "err", err)
			}
		}
		r.mu.Lock()
		delete(r.children, child.Identity)
		r.mu.Unlock()
	})
}

// exit is how a dead postmaster ended, known when it was a child of ours. It
// is dead before it is reaped: the little while in between is waited for.
func (r *Runtime) exit(postmaster postgres.Identity) (exit postgres.Exit, known bool) {
	r.mu.Lock()
	child := r.children[postmaster]
	r.mu.Unlock()
	if child == nil {
		return postgres.Exit{}, false
	}
	const reaping = 5 * time.Second
	select {
	case <-child.Done():
	case <-time.After(reaping):
	}
	return child.Exit()
}

// whyStopped says why the recorded postmaster does not run, as well as can be
// known: its exit when it was our child, and what it last complained of.
// Empty when it never ran or was stopped by us.
func (r *Runtime) whyStopped(record serverRecord) string {
	switch {
	case record.Postmaster.PID == 0 || record.Stopped == stoppedByUs:
		return ""
	case record.Stopped != "":
		return record.Stopped
	}
	if us, err := postgres.Identify(os.Getpid()); err == nil && us.Boot != record.Postmaster.Boot {
		return "the host was restarted"
	}
	var known []string
	if exit, ours := r.exit(record.Postmaster); ours {
		known = append(known, "the postmaster "+exit.String())
	}
	if record.Group.oomKilled() {
		known = append(known, "the kernel killed processes of it for want of memory")
	}
	if said := r.said(record); said != "" {
		known = append(known, said)
	}
	if len(known) == 0 {
		return "the postmaster ended without a word in its log"
	}
	return strings.Join(known, "; ")
}

// said is what the log has to say about the end.
func (r *Runtime) said(record serverRecord) string {
	log := r.logTail(record)
	if record.Version == "" { // it was never ready
		return postgres.Complaint(log)
	}
	return postgres.LastWords(log, record.Postmaster.PID)
}

// logTail reads the end of what the recorded postmaster wrote to its log.
func (r *Runtime) logTail(record serverRecord) string {
	const enough = 64 << 10
	log, err := os.Open(r.logFile(record))
	if err != nil {
		return ""
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	from := max(record.LogStart, info.Size()-enough)
	if from > info.Size() {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(log, from, enough))
	if err != nil {
		return fmt.Sprintf("(log not readable: %v)", err)
	}
	return string(text)
}
