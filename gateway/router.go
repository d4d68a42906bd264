package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"

	"pglab/internal/engine"
	"pglab/internal/lab"
	"pglab/internal/proxy"
	"pglab/internal/store"
	"pglab/internal/wire"
)

// router knows what stands behind a database name: lab is the control room,
// any other name the server under test of that name.
type router struct {
	engine   engineAddress
	store    *store.Store
	runtimes map[string]lab.Runtime
}

// Route implements proxy.Router.
func (r router) Route(ctx context.Context, role proxy.Role, database string) (proxy.Target, error) {
	if database == engine.Database {
		return proxy.Target{Dial: r.engine.dial, User: role.Name, Database: r.engine.database, SameRole: r.engine.external}, nil
	}
	cluster, err := r.store.Cluster(ctx, database)
	if errors.Is(err, lab.ErrNotFound) {
		return proxy.Target{}, r.unknown(ctx, role, database)
	}
	if err != nil {
		return proxy.Target{}, err
	}
	if role.Kind == proxy.Viewer {
		return proxy.Target{}, &wire.Error{
			Code:    pgerrcode.InsufficientPrivilege,
			Message: fmt.Sprintf("permission denied for database %q", database),
			Detail:  "Servers under test are open to members of lab_operator and lab_admin.",
			Hint:    "Connect to database lab, or ask a lab_admin for the role.",
		}
	}
	if cluster.State != lab.ClusterReady {
		return proxy.Target{}, notReady(cluster)
	}
	return r.target(role, cluster)
}

func (r router) target(role proxy.Role, cluster lab.Cluster) (proxy.Target, error) {
	runtime, known := r.runtimes[cluster.Runtime]
	if !known {
		return proxy.Target{}, notReady(cluster)
	}
	user := lab.BenchUser
	if role.Kind == proxy.Admin {
		user = lab.SuperUser
	}
	ref := lab.ServerRef{Name: cluster.Name, UID: cluster.UID}
	return proxy.Target{
		Dial:     func(ctx context.Context) (net.Conn, error) { return runtime.Dial(ctx, ref) },
		User:     user,
		Database: cluster.Name,
	}, nil
}

func notReady(cluster lab.Cluster) error {
	e := &wire.Error{
		Code:    pgerrcode.CannotConnectNow,
		Message: fmt.Sprintf("cluster %q is %s", cluster.Name, cluster.State),
		Detail:  cluster.Message,
		Hint:    "Watch it in database lab: SELECT name, state, message FROM lab.clusters.",
	}
	if cluster.State != lab.ClusterFailed {
		e.Message = fmt.Sprintf("cluster %q is %s, for %v now", cluster.Name, cluster.State,
			time.Since(cluster.CreatedAt).Round(time.Second))
	}
	return e
}

// unknown is 3D000 with the names that would have worked. Viewers cannot
// open clusters, so that none are listed to them.
func (r router) unknown(ctx context.Context, role proxy.Role, database string) error {
	names := []string{engine.Database}
	if role.Kind != proxy.Viewer {
		clusters, err := r.store.Clusters(ctx)
		if err != nil {
			return err
		}
		const enough = 50 // a HINT is for reading
		for _, cluster := range clusters[:min(len(clusters), enough)] {
			names = append(names, cluster.Name)
		}
	}
	return &wire.Error{
		Code:    pgerrcode.InvalidCatalogName,
		Message: fmt.Sprintf("database %q does not exist", database),
		Hint:    "These exist: " + strings.Join(names, ", ") + ". A row in lab.clusters makes another.",
	}
}

// roles lets the proxy ask the store who may log in.
type roles struct{ logins *store.Logins }

// Login implements proxy.Roles.
func (r roles) Login(ctx context.Context, user string) (proxy.Role, error) {
	login, err := r.logins.Login(ctx, user)
	if err != nil {
		return proxy.Role{}, err
	}
	return proxy.Role{
		Name:            login.Role,
		Verifier:        login.Verifier,
		ValidUntil:      login.ValidUntil,
		ConnectionLimit: login.ConnectionLimit,
		Kind:            login.Kind,
	}, nil
}
