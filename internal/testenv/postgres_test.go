package testenv

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestEveryMajorStarts(t *testing.T) {
	for _, major := range Majors() {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			t.Parallel()
			server := Postgres(t, major)
			number := show(t, server.Connect(t, "postgres"), "server_version_num")
			if !strings.HasPrefix(number, strconv.Itoa(major)) {
				t.Errorf("server_version_num is %s", number)
			}
		})
	}
}

func TestServerEndsWithItsTest(t *testing.T) {
	var server *Server
	t.Run("inner", func(t *testing.T) { server = Postgres(t, 16) })
	if pid := server.PID(); pid != 0 {
		t.Errorf("postmaster %d runs after its test", pid)
	}
	if exists(server.dir) {
		t.Errorf("%s exists after its test", server.dir)
	}
}

func TestSettingsReachTheServerUnchanged(t *testing.T) {
	awkward := `it's a \ and a "`
	conn := Postgres(t, 16, Setting("cluster_name", awkward), Setting("work_mem", "5MB")).Connect(t, "postgres")
	if got := show(t, conn, "cluster_name"); got != awkward {
		t.Errorf("cluster_name is %s, want %s", got, awkward)
	}
	if got := show(t, conn, "work_mem"); got != "5MB" {
		t.Errorf("work_mem is %s, want 5MB", got)
	}
}

func TestAServerThatLetsNobodyInStarts(t *testing.T) {
	server := Postgres(t, 16, HBA("local all all reject"))
	_, err := pgx.Connect(t.Context(), server.URL("postgres"))
	wantCode(t, err, pgerrcode.InvalidAuthorizationSpecification)
}

func TestTCPAsksForThePassword(t *testing.T) {
	server := Postgres(t, 16, TCP())
	conn, err := pgx.Connect(t.Context(), server.TCPURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	closeConn(conn)

	config, err := pgx.ParseConfig(server.TCPURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	config.Password = "wrong"
	_, err = pgx.ConnectConfig(t.Context(), config)
	wantCode(t, err, pgerrcode.InvalidPassword)
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := Start(16, Setting("shared_buffers", "plenty"))
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers": "plenty"`) {
		t.Errorf("the error is %v", err)
	}
}

func show(t *testing.T, conn *pgx.Conn, setting string) string {
	t.Helper()
	var value string
	if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("the error is %v, want SQLSTATE %s", err, code)
	}
}
