package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgerrcode"

	"pglab/internal/lab"
	"pglab/internal/wire"
)

// session is a client that asked for a database, until it is gone.
type session struct {
	server   *Server
	id       uint64
	log      *slog.Logger
	client   net.Conn
	startup  wire.Startup
	database string
	role     Role
	keys     *wire.Keys // nil: came in without a password
	target   Target

	key        wire.CancelKey // that the client has
	backendKey wire.CancelKey // that the target has; no secret: it cannot be interrupted

	mu     sync.Mutex
	relay  *relay      // nil until the target has greeted
	ending *wire.Error // why the session was told to end
	abort  context.CancelFunc
}

// login authenticates the client and takes a slot.
func (c *session) login(trusted bool) error {
	if err := wire.Negotiate(c.client, c.startup); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.server.ctx, c.server.LoginTimeout)
	defer cancel()
	if err := c.authenticate(ctx, trusted); err != nil {
		if timedOut(err) && !c.server.isDraining() {
			return &wire.Error{
				Code:    pgerrcode.QueryCanceled,
				Message: "canceling authentication due to authentication timeout",
			}
		}
		return err
	}
	return c.server.sessions.add(c)
}

// authenticate finds the client's role and makes the client prove itself,
// unless the kernel vouches for it. Nobody learns from the answer which names exist.
func (c *session) authenticate(ctx context.Context, trusted bool) error {
	user := c.startup.User()
	verifier := wire.MockVerifier(c.server.Secret, user)
	role, err := Role{}, error(lab.ErrNotFound)
	if utf8.ValidString(user) { // other bytes name no role, and the engine would stumble over them
		role, err = c.server.Roles.Login(ctx, user)
	}
	switch {
	case errors.Is(err, lab.ErrNotFound) && trusted:
		return &wire.Error{
			Code:    pgerrcode.InvalidAuthorizationSpecification,
			Message: fmt.Sprintf("role %q does not exist", user),
			Hint:    "Only logins of the lab come in here; SELECT * FROM lab.roles lists them.",
		}
	case errors.Is(err, lab.ErrNotFound):
		c.log.Info("no such login")
	case err != nil:
		c.log.Error("looking up a role failed", "err", err)
		return unansweredLookup()
	}
	c.role = role
	if trusted {
		return nil
	}
	if err == nil {
		verifier = c.verifier(role, verifier)
	}
	c.keys, err = wire.Authenticate(c.client, user, verifier)
	return err
}

// verifier is what the role's password is checked against; the mock, and a
// line in the log, for a role that has none to be checked.
func (c *session) verifier(role Role, mock wire.Verifier) wire.Verifier {
	if !role.ValidUntil.IsZero() && time.Now().After(role.ValidUntil) {
		c.log.Info("password has expired", "valid_until", role.ValidUntil)
		return mock
	}
	verifier, err := wire.ParseVerifier(role.Verifier)
	if err != nil {
		c.log.Info("role cannot log in with a password", "err", err)
		return mock
	}
	return verifier
}

func unansweredLookup() *wire.Error {
	return &wire.Error{
		Code:    pgerrcode.CannotConnectNow,
		Message: "the lab cannot look up roles now",
		Hint:    "Its engine may be starting or stopped. Try again in a moment; the gateway's log has the reason.",
	}
}

// run connects the session to its target and relays until one side ends.
func (c *session) run() {
	started := time.Now()
	ctx, abort := context.WithCancel(c.server.ctx)
	defer abort()
	c.mu.Lock()
	c.abort = abort
	if c.ending != nil {
		abort()
	}
	c.mu.Unlock()

	backend, greeting, err := c.connect(ctx)
	if err == nil {
		defer backend.Close()
		err = c.join(backend, greeting)
	}
	if err != nil {
		c.server.refuse(c.log, c.id, c.client, c.explain(err))
		return
	}
	c.log.Info("session started", "kind", c.role.Kind, "backend_pid", c.key.PID, "login_ms", time.Since(started).Milliseconds())
	why := c.relay.run()
	facts := []any{
		"why", why.reason,
		"bytes_from_client", c.relay.up.bytes.Load(), "bytes_to_client", c.relay.down.bytes.Load(),
		"duration_ms", time.Since(started).Milliseconds(),
	}
	if why.err != nil {
		facts = append(facts, "err", why.err)
	}
	c.log.Info("session ended", facts...)
}

// join hands the target's greeting on and makes the relay.
func (c *session) join(backend net.Conn, greeting wire.Greeting) error {
	if greeting.Key.Secret != nil {
		c.backendKey = greeting.Key
		c.server.sessions.giveKey(c, greeting.Key.PID, c.startup.Version)
	}
	messages, err := greeting.WithKey(c.key)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.ending != nil {
		defer c.mu.Unlock()
		return c.ending
	}
	c.relay = newRelay(c.client, backend, c.log, c.interrupt)
	c.mu.Unlock()
	return c.relay.greet(messages)
}

// explain turns whatever stopped a session before its relay into what the client reads.
func (c *session) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil {
		return c.ending
	}
	if _, worded := errors.AsType[*wire.Error](err); worded || isReset(err) {
		return err
	}
	c.log.Error("session could not start", "err", err)
	return internalError(c.id)
}

// end tells the session to end for that reason: now, or as soon as no
// statement and no transaction is open. A session that has not reached its
// target yet ends at once.
func (c *session) end(reason *wire.Error, now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relay != nil {
		c.relay.end(reason, now)
		return
	}
	c.ending = reason
	if c.abort != nil {
		c.abort()
	}
}
