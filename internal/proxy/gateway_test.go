package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pglab/internal/lab"
	"pglab/internal/testenv"
	"pglab/internal/wire"
)

// gateway is a Server in front of the engine, on TCP and on a unix socket.
type gateway struct {
	*Server
	host      string
	port      int
	socketDir string
	certFile  string
	roles     *engineRoles
	routes    routes
	log       *logBuffer
}

// startGateway starts a gateway that ends with the test; change may alter its configuration first.
func startGateway(t testing.TB, change func(*gateway, *Config)) *gateway {
	t.Helper()
	g := &gateway{log: &logBuffer{also: t.Output()}, routes: engineRoutes(), roles: openRoles(t), socketDir: t.TempDir()}
	certDir := t.TempDir()
	certificate, err := wire.SelfSigned(certDir)
	if err != nil {
		t.Fatal(err)
	}
	g.certFile = filepath.Join(certDir, "server.crt")
	config := Config{
		Roles:  g.roles,
		Router: g.routes,
		Log:    slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		TLS:    wire.ServerTLS(certificate),
		Secret: []byte("the same in every test"),
	}
	if change != nil {
		change(g, &config)
	}
	if g.Server, err = New(config); err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.host, g.port = "127.0.0.1", tcp.Addr().(*net.TCPAddr).Port
	local, err := ListenUnix(g.socketDir, g.port)
	if err != nil {
		t.Fatal(err)
	}
	g.serve(t, tcp)
	g.serve(t, local)
	return g
}

// serve serves on ln until the test ends.
func (g *gateway) serve(t testing.TB, ln net.Listener) {
	done := make(chan error, 1)
	go func() { done <- g.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		g.Drain(ctx)
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// url is the connection string of a login over TCP; options are libpq's, as "name=value".
func (g *gateway) url(user, database string, options ...string) string {
	return loginURL(net.JoinHostPort(g.host, strconv.Itoa(g.port)), user, password, database, options...)
}

// direct is the same login to the engine without a gateway.
func direct(user, database string, options ...string) string {
	return loginURL(fmt.Sprintf("127.0.0.1:%d", engine.Port), user, password, database, options...)
}

func loginURL(address, user, password, database string, options ...string) string {
	query := url.Values{"sslmode": {"disable"}}
	for _, option := range options {
		name, value, _ := bytes.Cut([]byte(option), []byte("="))
		query.Set(string(name), string(value))
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: address, Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// connect is a pgx session through the gateway, closed with the test.
func (g *gateway) connect(t testing.TB, user, database string, options ...string) *pgx.Conn {
	t.Helper()
	return connectTo(t, g.url(user, database, options...))
}

func connectTo(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		conn.Close(ctx)
	})
	return conn
}

// dial is a bare TCP connection to the gateway.
func (g *gateway) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(g.host, strconv.Itoa(g.port)))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	t.Cleanup(func() { conn.Close() })
	return conn
}

// psql runs commands in one session of the real psql.
func psql(t testing.TB, connection string, commands ...string) testenv.Output {
	t.Helper()
	u, err := url.Parse(connection)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	u.User = url.User(u.User.Username())
	args := []string{"-A", "-t", "-d", u.String()}
	for _, command := range commands {
		args = append(args, "-c", command)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return testenv.Psql(ctx, t, testenv.Call{Args: args, Env: []string{"PGPASSWORD=" + secret}})
}

// engineRoles looks roles up where they are.
type engineRoles struct{ pool *pgxpool.Pool }

func openRoles(t testing.TB) *engineRoles {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), engine.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &engineRoles{pool}
}

func (r *engineRoles) Login(ctx context.Context, user string) (Role, error) {
	role := Role{Name: user, Kind: Operator}
	var verifier *string
	var until *time.Time
	err := r.pool.QueryRow(ctx, `SELECT rolpassword, rolvaliduntil, rolconnlimit FROM pg_authid
		WHERE rolname = $1 AND rolcanlogin AND NOT rolsuper`, user).Scan(&verifier, &until, &role.ConnectionLimit)
	if errors.Is(err, pgx.ErrNoRows) {
		return Role{}, lab.NotFound("role %q", user)
	}
	if verifier != nil {
		role.Verifier = *verifier
	}
	if until != nil {
		role.ValidUntil = *until
	}
	if user == "bob" {
		role.Kind = Viewer
	}
	return role, err
}

// routes is a Router made of a map. A nil target belongs to nobody below Operator.
type routes map[string]func(Role) (Target, error)

func (r routes) Route(ctx context.Context, role Role, database string) (Target, error) {
	route, known := r[database]
	if !known {
		return Target{}, &wire.Error{
			Code:    pgerrcode.InvalidCatalogName,
			Message: fmt.Sprintf("database %q does not exist", database),
			Hint:    "There is lab.",
		}
	}
	return route(role)
}

// engineRoutes leads to the engine in every way that a target can be logged in to.
func engineRoutes() routes {
	local := filepath.Join(engine.SocketDir, fmt.Sprintf(".s.PGSQL.%d", engine.Port))
	remote := fmt.Sprintf("127.0.0.1:%d", engine.Port)
	as := func(role Role) Target { return Target{Dial: dialer("unix", local), User: role.Name, Database: "lab"} }
	return routes{
		"lab": func(role Role) (Target, error) { return as(role), nil },
		"ann": func(role Role) (Target, error) { target := as(role); target.Database = "ann"; return target, nil },
		"same-role": func(role Role) (Target, error) {
			return Target{Dial: dialer("tcp", remote), User: role.Name, Database: "lab", SameRole: true}, nil
		},
		"by-password": func(Role) (Target, error) {
			return Target{Dial: dialer("tcp", remote), User: testenv.SuperUser, Database: "lab", Password: testenv.Password}, nil
		},
		"wrong-password": func(Role) (Target, error) {
			return Target{Dial: dialer("tcp", remote), User: testenv.SuperUser, Database: "lab", Password: "wrong"}, nil
		},
		"no-password": func(Role) (Target, error) {
			return Target{Dial: dialer("tcp", remote), User: testenv.SuperUser, Database: "lab"}, nil
		},
		"elsewhere": func(role Role) (Target, error) { target := as(role); target.Database = "absent"; return target, nil },
		"cluster": func(role Role) (Target, error) {
			if role.Kind == Viewer {
				return Target{}, &wire.Error{Code: pgerrcode.InsufficientPrivilege, Message: "permission denied for cluster"}
			}
			return as(role), nil
		},
		"creating": func(Role) (Target, error) {
			return Target{}, &wire.Error{Code: pgerrcode.CannotConnectNow, Message: "cluster is being created"}
		},
		"broken-router": func(Role) (Target, error) { return Target{}, errors.New("dirty secret") },
		"panic":         func(Role) (Target, error) { panic("in the router") },
	}
}

func dialer(network, address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// logBuffer keeps what was logged, for tests to read.
type logBuffer struct {
	also io.Writer
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.also.Write(p)
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) count(text string) int { return bytes.Count([]byte(b.String()), []byte(text)) }

// backends counts the engine's sessions of a role, by a look from outside.
func backends(t testing.TB, role string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), engine.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = $1`, role).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func insecureTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}}
}
