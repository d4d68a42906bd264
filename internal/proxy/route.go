package proxy

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgerrcode"

	"pglab/internal/lab"
	"pglab/internal/wire"
)

// Kinds of role, by the group of the lab that they are a member of.
const (
	Viewer   = "viewer"
	Operator = "operator"
	Admin    = "admin"
)

// Role is what the lab knows of a login.
type Role struct {
	Name            string
	Verifier        string    // as in pg_authid.rolpassword; empty: no password
	ValidUntil      time.Time // of the password; zero: for ever
	ConnectionLimit int       // negative: none
	Kind            string    // Viewer, Operator or Admin
}

// Roles knows who may log in.
type Roles interface {
	// Login looks a role up by name. lab.ErrNotFound for everyone who may not
	// log in; any other error means that the question could not be answered.
	Login(ctx context.Context, user string) (Role, error)
}

// Router knows what stands behind a database name.
type Router interface {
	// Route returns where that role's session on that database goes. A
	// *wire.Error goes to the client as it is: 3D000 for a name that is not
	// there (Hint lists those that are), 42501 for a role that may not,
	// 57P03 for a server that is not ready.
	Route(ctx context.Context, role Role, database string) (Target, error)
}

// Target is a server and the session to open there.
type Target struct {
	// Dial connects to the server's Postgres port, TLS included where it is
	// wanted. It is called again for every cancel request of the session.
	// lab.ErrNotFound and lab.ErrUnavailable are told from other errors.
	Dial     func(ctx context.Context) (net.Conn, error)
	User     string
	Database string
	// Parameters go ahead of the client's own, which override them.
	Parameters []wire.Parameter

	// How to log in there. With neither, the server must ask for nothing.
	Password wire.Password // SCRAM with a password
	SameRole bool          // SCRAM with the keys from the client's own login: the server holds the same verifier
}

// secret is what the session logs in with at its target. keys are nil when
// the client came in without a password.
func (t Target) secret(keys *wire.Keys) (wire.Secret, error) {
	switch {
	case t.SameRole && keys == nil:
		return nil, &wire.Error{
			Code:    pgerrcode.InvalidAuthorizationSpecification,
			Message: "this database needs a login with a password",
			Hint:    "Connect over TCP: the gateway's own socket asks for no password, so there is none to hand on.",
		}
	case t.SameRole:
		return keys, nil
	case t.Password != "":
		return t.Password, nil
	}
	return nil, nil
}

// dialError is what a client reads when its target cannot be reached: 57P03
// when the server is likely to come (back), 08006 otherwise.
func dialError(err error) error {
	if _, ok := errors.AsType[*wire.Error](err); ok {
		return err
	}
	e := &wire.Error{
		Code:    pgerrcode.ConnectionFailure,
		Message: "the server behind this database cannot be reached",
		Detail:  err.Error(),
		Hint:    "Look at lab.clusters (state, message) and at the gateway's log.",
	}
	for _, passing := range []error{lab.ErrUnavailable, lab.ErrNotFound, fs.ErrNotExist, syscall.ECONNREFUSED} {
		if errors.Is(err, passing) {
			e.Code = pgerrcode.CannotConnectNow
			e.Message = "the server behind this database does not accept connections now"
			e.Hint = "It may be starting, stopped or gone. Try again in a moment; lab.clusters (state, message) and the gateway's log say more."
		}
	}
	return e
}
