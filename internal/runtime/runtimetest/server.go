package runtimetest

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"pglab/internal/lab"
)

func (s *suite) server(t *testing.T) {
	var said []string
	spec := s.main()
	made, err := s.runtime.EnsureServer(ctx(t), spec, func(words string) { said = append(said, words) })
	if err != nil {
		t.Fatal(err)
	}
	if made.Phase != lab.ServerReady || made.Ref != spec.Ref() || made.Message != "" || made.Version == "" || made.Endpoint == "" || made.StartedAt.IsZero() {
		t.Errorf("made %+v", made)
	}
	if len(said) == 0 {
		t.Error("it was made without a word")
	}
	t.Run("inspect tells the same", func(t *testing.T) {
		inspected, err := s.runtime.InspectServer(ctx(t), spec.Ref())
		if diff := cmp.Diff(made, inspected); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	t.Run("ensure again changes nothing", func(t *testing.T) {
		again, err := s.runtime.EnsureServer(ctx(t), spec, func(words string) { t.Errorf("did something: %s", words) })
		if diff := cmp.Diff(made, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	t.Run("drift is reported", func(t *testing.T) {
		changed := spec
		changed.Parameters = map[string]string{"work_mem": "9MB"}
		drifted, err := s.runtime.EnsureServer(ctx(t), changed, func(string) {})
		if err != nil || !strings.Contains(drifted.Message, "parameters") || !drifted.StartedAt.Equal(made.StartedAt) {
			t.Errorf("%+v, %v", drifted, err)
		}
		if got := s.ask(t, spec.Ref(), lab.SuperUser, "SHOW work_mem"); got != "7MB" {
			t.Errorf("work_mem is %s", got)
		}
	})
	t.Run("bench owns the database", func(t *testing.T) {
		if got := s.ask(t, spec.Ref(), lab.BenchUser, `SELECT current_user || ' ' || current_database() || ' ' || (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
			|| ' ' || pg_has_role(current_user, 'pg_monitor', 'member') || ' ' || (SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database())`); got != "bench main false true bench" {
			t.Error(got)
		}
	})
	t.Run("parameters arrive as they are", func(t *testing.T) {
		for parameter, want := range spec.Parameters {
			if got := s.ask(t, spec.Ref(), lab.SuperUser, "SHOW "+parameter); got != want {
				t.Errorf("%s = %q, want %q", parameter, got, want)
			}
		}
	})
	t.Run("explicit choices", func(t *testing.T) {
		if got := s.ask(t, spec.Ref(), lab.SuperUser, `SELECT current_setting('data_checksums') || ' ' || current_setting('server_encoding') || ' ' || datcollate || ' ' || current_setting('listen_addresses')
			FROM pg_database WHERE datname = current_database()`); !strings.HasPrefix(got, "on UTF8 C") {
			t.Error(got)
		}
	})
	t.Run("limits are in force", func(t *testing.T) {
		if s.Limits == nil {
			return
		}
		if diff := cmp.Diff(Limits{CPU: spec.CPU, Memory: spec.Memory}, s.Limits(t, made.Usage)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("log can be read from anywhere", func(t *testing.T) {
		whole := read(t, func() (io.ReadCloser, error) { return s.runtime.ServerLog(ctx(t), spec.Ref(), 0) })
		if !strings.Contains(whole, "ready to accept connections") {
			t.Errorf("log: %q", whole)
		}
		if rest := read(t, func() (io.ReadCloser, error) { return s.runtime.ServerLog(ctx(t), spec.Ref(), 20) }); !strings.HasPrefix(rest, whole[20:]) {
			t.Errorf("from byte 20 on: %q", rest)
		}
	})
	t.Run("it is listed", func(t *testing.T) {
		if !s.lists(t, func(object lab.Object) bool {
			return object.Server != nil && *object.Server == spec.Ref() && !object.Since.IsZero()
		}) {
			t.Error("it is not")
		}
	})
}

func (s *suite) removal(t *testing.T) {
	ref := s.main().Ref()
	before, err := s.runtime.InspectServer(ctx(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	s.removeAll(t)
	if s.Alive(before.Usage) {
		t.Error("it runs on")
	}
	if _, err := s.runtime.Dial(ctx(t), ref); err == nil {
		t.Error("it still answers")
	}
	if s.lists(t, func(lab.Object) bool { return true }) {
		t.Error("it is still listed")
	}
}

// tenTimes makes and removes a server, each time with a benchmark on it.
func (s *suite) tenTimes(t *testing.T) {
	const rounds = 10
	for range rounds {
		server := s.ensure(t, s.spec("again"))
		task := s.start(t, server.Ref, "again", "-n", "-t", "5", "-f", "select.sql")
		if ended, err := s.runtime.WaitTask(ctx(t), task.Ref); err != nil || ended.ExitCode != 0 {
			t.Fatalf("task: %+v, %v", ended, err)
		}
		s.removeAll(t)
	}
	if left := s.Leftovers(t); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// ensure makes a server or fails the test.
func (s *suite) ensure(t *testing.T, spec lab.ServerSpec) lab.Server {
	t.Helper()
	server, err := s.runtime.EnsureServer(ctx(t), spec, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func (s *suite) lists(t *testing.T, wanted func(lab.Object) bool) bool {
	t.Helper()
	objects, err := s.runtime.List(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if wanted(object) {
			return true
		}
	}
	return false
}

// ask runs a query over Dial and returns its one value.
func (s *suite) ask(t *testing.T, ref lab.ServerRef, user, query string) string {
	t.Helper()
	var answer string
	if err := s.connect(t, ref, user).QueryRow(ctx(t), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// do runs a statement over Dial.
func (s *suite) do(t *testing.T, ref lab.ServerRef, user, statement string) {
	t.Helper()
	if _, err := s.connect(t, ref, user).Exec(ctx(t), statement); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) connect(t *testing.T, ref lab.ServerRef, user string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("user=" + user + " dbname=" + ref.Name + " host=/runtime sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.runtime.Dial(ctx, ref) }
	conn, err := pgx.ConnectConfig(ctx(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func read(t *testing.T, open func() (io.ReadCloser, error)) string {
	t.Helper()
	log, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
