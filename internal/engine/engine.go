package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pglab/internal/postgres"
)

// Database is the name of the control room.
const Database = "lab"

// Config says where an embedded engine lives and what runs it.
type Config struct {
	Dir           string                 // holds data, socket and log; made when missing
	Installations postgres.Installations // to choose from
	Account       *postgres.Account      // runs as; nil: as we are
	Log           *slog.Logger
}

// Engine is an embedded Postgres that is kept running until Stop.
type Engine struct {
	Config
	installation postgres.Installation
	stop         context.CancelFunc
	supervised   chan struct{} // closed when the supervisor has ended

	mu      sync.Mutex
	current postgres.Identity
}

// settings are the engine's own: it serves one small schema beside servers
// that are being measured, so it must not take their CPU or memory.
var settings = map[string]string{
	"shared_buffers":                   "128MB",
	"max_connections":                  "300",
	"jit":                              "off",
	"max_parallel_workers_per_gather":  "0",
	"autovacuum_max_workers":           "2",
	"client_connection_check_interval": "1s",
	"password_encryption":              "scram-sha-256",
	"bgwriter_delay":                   "10s", // little is written here, and every wake-up is felt
	"log_line_prefix":                  "%m [%p] %q%u@%d ",
}

// Start starts the engine, or adopts the one that runs on its data
// directory, and returns when it accepts connections. A data directory made
// by a major that is not installed is refused; nothing is ever wiped.
func Start(ctx context.Context, config Config) (*Engine, error) {
	e := &Engine{Config: config, supervised: make(chan struct{})}
	if _, err := postgres.SocketPath(e.socketDir()); err != nil {
		return nil, err
	}
	if err := e.makeDirs(); err != nil {
		return nil, err
	}
	if err := e.chooseInstallation(); err != nil {
		return nil, err
	}
	if err := e.ensureData(ctx); err != nil {
		return nil, err
	}
	ended, err := e.ensureRunning(ctx)
	if err != nil {
		return nil, err
	}
	supervise, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	go e.supervise(supervise, ended)
	return e, nil
}

func (e *Engine) dataDir() string   { return filepath.Join(e.Dir, "data") }
func (e *Engine) socketDir() string { return filepath.Join(e.Dir, "socket") }
func (e *Engine) logFile() string   { return filepath.Join(e.Dir, "log") }

// SocketDir is where the engine listens. Its mode is 0700: whoever can open
// the socket may log in as anybody.
func (e *Engine) SocketDir() string { return e.socketDir() }

// Version is the engine's Postgres, "15.18".
func (e *Engine) Version() string { return e.installation.Version.String() }

// URL is a connection string for the bootstrap superuser.
func (e *Engine) URL(database string) string {
	return fmt.Sprintf("host='%s' port=%d user=%s dbname=%s sslmode=disable",
		strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(e.socketDir()), postgres.Port, postgres.SuperUser, database)
}

func (e *Engine) makeDirs() error {
	for _, dir := range []string{e.Dir, e.socketDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making engine directory: %w", err)
		}
		if e.Account == nil {
			continue
		}
		if err := os.Lchown(dir, e.Account.UID, e.Account.GID); err != nil {
			return fmt.Errorf("handing engine directory to %s: %w", e.Account, err)
		}
	}
	return nil
}

// chooseInstallation takes the major that made the data; for a new engine
// the distribution's newest, because its updates come by themselves.
func (e *Engine) chooseInstallation() (err error) {
	major, err := postgres.DataMajor(e.dataDir())
	switch {
	case err == nil:
		if e.installation, err = e.Installations.Server(major); err != nil {
			return fmt.Errorf("the lab's data in %s were made by Postgres %s, and only this major can read them: "+
				"install it or name its folder with --postgres-dir, or start a new lab with another --data; found: %s",
				e.dataDir(), major, e.Installations)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var packaged postgres.Installations
	for _, installation := range e.Installations {
		if strings.HasPrefix(installation.Bindir, "/usr/lib/postgresql/") {
			packaged = append(packaged, installation)
		}
	}
	if e.installation, err = packaged.Server(""); err == nil {
		return nil
	}
	e.installation, err = e.Installations.Server("")
	return err
}

func (e *Engine) ensureData(ctx context.Context) error {
	if _, err := os.Stat(e.dataDir()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.Log.Info("making engine", "postgres", e.installation.Version.String(), "dir", e.dataDir())
	return postgres.Initdb(ctx, e.installation, e.dataDir(), nil, e.Account)
}

// ensureRunning makes sure that a postmaster runs and accepts connections.
// The channel it returns is closed when that postmaster ends.
func (e *Engine) ensureRunning(ctx context.Context) (ended <-chan struct{}, err error) {
	identity, err := postgres.Running(e.dataDir())
	if err == nil {
		e.Log.Info("adopting engine", "pid", identity.PID)
		ended = whenEnded(identity)
	} else {
		argv := postgres.PostmasterArgv(e.installation, e.dataDir(), e.socketDir(), settings)
		child, err := postgres.Start(postgres.Command{Argv: argv, Env: postgres.PostmasterEnv(), Log: e.logFile(), As: e.Account})
		if err != nil {
			return nil, fmt.Errorf("starting engine: %w", err)
		}
		identity, ended = child.Identity, child.Done()
	}
	e.mu.Lock()
	e.current = identity // before it is ready: Stop must find it in any state
	e.mu.Unlock()
	ready, cancel := context.WithTimeout(ctx, 2*time.Minute) // crash recovery takes what it takes
	defer cancel()
	if err := identity.WaitReady(ready, e.dataDir()); err != nil {
		return nil, fmt.Errorf("starting engine: %w: %s", err, e.complaint())
	}
	return ended, nil
}

func whenEnded(identity postgres.Identity) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		_ = identity.Wait(context.Background())
		close(ended)
	}()
	return ended
}

// complaint is what the engine said last, in its log.
func (e *Engine) complaint() string {
	text, err := os.ReadFile(e.logFile())
	if err != nil {
		return "no log: " + err.Error()
	}
	return postgres.Complaint(string(text[max(0, len(text)-16<<10):]))
}

// supervise starts the engine again whenever it ends by itself.
func (e *Engine) supervise(ctx context.Context, ended <-chan struct{}) {
	defer close(e.supervised)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		if ctx.Err() != nil {
			return
		}
		e.Log.Error("engine ended, starting it again", "said", e.complaint())
		for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
			again, err := e.ensureRunning(ctx)
			if err == nil {
				ended = again
				break
			}
			if ctx.Err() != nil {
				return
			}
			e.Log.Error("engine does not start", "err", err, "again_in", pause)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
		e.Log.Info("engine runs again")
	}
}

// Stop ends the engine and waits for it; when ctx ends it is killed.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop()
	<-e.supervised
	e.mu.Lock()
	identity := e.current
	e.mu.Unlock()
	if _, err := postgres.StopPostmaster(ctx, identity); err != nil {
		return fmt.Errorf("stopping engine: %w", err)
	}
	return nil
}
