package proxy

import (
	"context"
	"net"
	"time"

	"pglab/internal/wire"
)

// connect routes the session, dials its target and logs in there.
func (c *session) connect(ctx context.Context) (net.Conn, wire.Greeting, error) {
	var err error
	if c.target, err = c.route(ctx); err != nil {
		return nil, wire.Greeting{}, err
	}
	secret, err := c.target.secret(c.keys)
	c.keys = nil
	if err != nil {
		return nil, wire.Greeting{}, err
	}
	backend, err := c.dial(ctx)
	if err != nil {
		c.log.Warn("target cannot be reached", "err", err)
		return nil, wire.Greeting{}, dialError(err)
	}
	greeting, err := c.open(ctx, backend, secret)
	if err != nil {
		backend.Close()
		return nil, wire.Greeting{}, err
	}
	return backend, greeting, nil
}

func (c *session) route(ctx context.Context) (Target, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.DialTimeout)
	defer cancel()
	return c.server.Router.Route(ctx, c.role, c.database)
}

func (c *session) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.DialTimeout)
	defer cancel()
	return c.target.Dial(ctx)
}

// open starts the session at the target, as long as ctx lasts.
func (c *session) open(ctx context.Context, backend net.Conn, secret wire.Secret) (wire.Greeting, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.DialTimeout)
	defer cancel()
	expire := func() { backend.SetDeadline(time.Unix(1, 0)) }
	stop := context.AfterFunc(ctx, expire)
	startup := c.startup.For(c.target.User, c.target.Database, c.target.Parameters...)
	greeting, err := wire.Login(backend, startup, secret)
	if !stop() && err == nil {
		err = ctx.Err() // the deadline is past already, whatever was read before
	}
	return greeting, err
}
