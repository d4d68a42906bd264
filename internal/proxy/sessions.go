package proxy

import (
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgerrcode"

	"pglab/internal/wire"
)

// sessions are the clients that have logged in. Each holds a slot.
type sessions struct {
	mu     sync.Mutex
	limit  int
	closed bool
	all    map[*session]struct{}
	byPID  map[uint32][]*session // those with a cancel key
}

func newSessions(limit int) *sessions {
	return &sessions{limit: limit, all: map[*session]struct{}{}, byPID: map[uint32][]*session{}}
}

// add takes a slot for the session, or says why there is none.
func (r *sessions) add(s *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return shuttingDown()
	case len(r.all) >= r.limit:
		return &wire.Error{
			Code:    pgerrcode.TooManyConnections,
			Message: "sorry, too many clients already",
			Hint:    fmt.Sprintf("The gateway takes %d sessions at a time. Close some, or start it with a higher limit.", r.limit),
		}
	case s.role.ConnectionLimit >= 0 && r.count(s.role.Name) >= s.role.ConnectionLimit:
		return &wire.Error{
			Code:    pgerrcode.TooManyConnections,
			Message: fmt.Sprintf("too many connections for role %q", s.role.Name),
		}
	}
	r.all[s] = struct{}{}
	return nil
}

func (r *sessions) count(role string) (n int) {
	for s := range r.all {
		if s.role.Name == role {
			n++
		}
	}
	return n
}

// remove gives the slot back and makes the cancel key worthless.
func (r *sessions) remove(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, s)
	r.byPID[s.key.PID] = slices.DeleteFunc(r.byPID[s.key.PID], func(other *session) bool { return other == s })
	if len(r.byPID[s.key.PID]) == 0 {
		delete(r.byPID, s.key.PID)
	}
}

// giveKey makes a cancel key for the session. Its process id is the server
// process's own, for clients that pass it to pg_terminate_backend or compare
// it with a notification's; two targets may have the same, so it is the
// secret that must be unlike any other.
func (r *sessions) giveKey(s *session, pid uint32, version wire.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.key = wire.NewCancelKey(pid, version)
	for r.find(s.key) != nil {
		s.key = wire.NewCancelKey(pid, version)
	}
	r.byPID[pid] = append(r.byPID[pid], s)
}

// byKey returns the session that the key belongs to, or nil.
func (r *sessions) byKey(key wire.CancelKey) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(key)
}

func (r *sessions) find(key wire.CancelKey) *session {
	for _, s := range r.byPID[key.PID] {
		if s.key.Equal(key) {
			return s
		}
	}
	return nil
}

// close lets nobody in any more.
func (r *sessions) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// on lists the sessions on a database; "" means all.
func (r *sessions) on(database string) (list []*session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.all {
		if database == "" || s.database == database {
			list = append(list, s)
		}
	}
	return list
}
