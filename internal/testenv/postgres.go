package testenv

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

const loopback = "127.0.0.1"

// Server is a real Postgres for tests, in a directory of its own. Its
// methods are not for concurrent use.
type Server struct {
	Major     int
	Bindir    string
	Datadir   string
	SocketDir string
	Port      int // in the socket's name; with TCP also on 127.0.0.1

	dir     string
	logFile string
	plan    *plan
	account *account
	started bool // once; the port is kept from then on
	running *postmaster
}

// Postgres starts a server that ends with the test. When the test has failed,
// it shows the end of the server's log.
func Postgres(t testing.TB, major int, options ...Option) *Server {
	t.Helper()
	server, err := Start(major, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of Postgres %d in %s:\n%s", major, server.Datadir, server.logTail())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Start starts a server where there is no test: in TestMain, or for several
// tests. Close it; the end of the process closes it too.
func Start(major int, options ...Option) (*Server, error) {
	bindir, err := findServer(major)
	if err != nil {
		return nil, err
	}
	server, err := newServer(major, bindir, newPlan(options))
	if err != nil {
		return nil, fmt.Errorf("making Postgres %d: %w", major, err)
	}
	if err := server.start(); err != nil {
		err = fmt.Errorf("starting Postgres %d: %w", major, err)
		_ = os.RemoveAll(server.dir) // the first error is the one to read
		return nil, err
	}
	return server, nil
}

// newServer makes everything that the postmaster reads except its settings,
// which change with the port.
func newServer(major int, bindir string, plan *plan) (*Server, error) {
	account, err := findAccount()
	if err != nil {
		return nil, err
	}
	home, err := processHome()
	if err != nil {
		return nil, err
	}
	dir, err := home.makeDir(strconv.Itoa(major))
	if err != nil {
		return nil, err
	}
	if err := account.own(dir); err != nil {
		return nil, err
	}
	server := &Server{
		Major:     major,
		Bindir:    bindir,
		Datadir:   filepath.Join(dir, "data"), // the janitor looks there
		SocketDir: dir,
		Port:      5432,
		dir:       dir,
		logFile:   filepath.Join(dir, "log"),
		plan:      plan,
		account:   account,
	}
	if err := newDatadir(bindir, server.Datadir, account); err != nil {
		return nil, err
	}
	if err := server.writeFile("pg_hba.conf", plan.rules()); err != nil {
		return nil, err
	}
	return server, nil
}

// writeFile replaces a file of the data directory. The file exists, so it
// keeps its owner.
func (s *Server) writeFile(name, text string) error {
	if err := os.WriteFile(filepath.Join(s.Datadir, name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// URL is the connection string for a database over the unix socket, as the
// superuser, for libpq and pgx.
func (s *Server) URL(database string) string {
	query := url.Values{"host": {s.SocketDir}, "port": {strconv.Itoa(s.Port)}, "sslmode": {"disable"}}
	return s.url("", database, query)
}

// TCPURL is the connection string for a database over TCP, as the superuser,
// with the password. The server must have been started with TCP.
func (s *Server) TCPURL(database string) string {
	return s.url(loopback+":"+strconv.Itoa(s.Port), database, url.Values{"sslmode": {"disable"}})
}

func (s *Server) url(host, database string, query url.Values) string {
	there := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(SuperUser, Password),
		Host:     host,
		Path:     "/" + database,
		RawQuery: query.Encode(),
	}
	return there.String()
}

// Connect connects to a database over the unix socket, as the superuser,
// until the test ends.
func (s *Server) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(database))
	if err != nil {
		t.Fatalf("connecting to Postgres %d: %v", s.Major, err)
	}
	t.Cleanup(func() { closeConn(conn) })
	return conn
}
