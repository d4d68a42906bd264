package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startPatience = time.Minute
	startPoll     = 10 * time.Millisecond
)

// passing are the complaints of a postmaster that another attempt may not
// meet: somebody took the port since it was found free, or processes of a
// killed postmaster are not gone yet.
var passing = []string{"Address already in use", "pre-existing shared memory block"}

// start starts the postmaster and returns when it answers.
func (s *Server) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	for {
		complaint, err := s.attempt(ctx)
		if err == nil {
			s.started = true
			return nil
		}
		mayPass := func(text string) bool { return strings.Contains(complaint, text) }
		if !slices.ContainsFunc(passing, mayPass) || !pause(ctx) {
			return err
		}
	}
}

// attempt starts the postmaster once. The complaint is what it logged when it
// did not stay.
func (s *Server) attempt(ctx context.Context) (complaint string, err error) {
	if s.plan.tcp && !s.started {
		if s.Port, err = freePort(); err != nil {
			return "", err
		}
	}
	if err := s.writeFile(ourConfig, s.plan.config(s.SocketDir, s.Port)); err != nil {
		return "", err
	}
	before := len(s.Log())
	postmaster, err := s.launch()
	if err != nil {
		return "", err
	}
	if err := s.waitReady(ctx, postmaster); err != nil {
		_ = postmaster.stop() // the first error is the one to read
		complaint = s.Log()[before:]
		return complaint, fmt.Errorf("%w; its log:\n%s", err, complaint)
	}
	s.running = postmaster
	return "", nil
}

func (s *Server) launch() (*postmaster, error) {
	log, err := os.OpenFile(s.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	defer log.Close()
	cmd := s.account.command(filepath.Join(s.Bindir, "postgres"), "-D", s.Datadir)
	cmd.Stdout, cmd.Stderr = log, log
	return startPostmaster(cmd)
}

func (s *Server) waitReady(ctx context.Context, postmaster *postmaster) error {
	for {
		err := answers(ctx, s.URL("postgres"))
		if err == nil {
			return nil
		}
		if postmaster.ended() {
			return errors.New("the postmaster ended")
		}
		if !pause(ctx) {
			return fmt.Errorf("no answer after %v: %w", startPatience, err)
		}
	}
}

// answers returns nil once the server has an opinion of its own, be it that
// pg_hba.conf lets nobody in.
func answers(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		closeConn(conn)
		return nil
	}
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code != pgerrcode.CannotConnectNow {
		return nil
	}
	return err
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server may be gone: nothing is left to do
}

// pause waits for the next look; false when ctx has ended.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(startPoll):
		return true
	case <-ctx.Done():
		return false
	}
}

// freePort is a port that was free a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return 0, fmt.Errorf("freeing port %d: %w", port, err)
	}
	return port, nil
}
