package testenv

import (
	"net"
	"strings"
	"sync"
	"testing"
)

func TestDataOutliveARestart(t *testing.T) {
	for name, end := range map[string]func(*Server, testing.TB){"stopped": (*Server).Stop, "killed": (*Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := Postgres(t, 16, TCP(), Setting("synchronous_commit", "on"))
			before := server.PID()
			url := server.TCPURL("postgres")
			if _, err := server.Connect(t, "postgres").Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
				t.Fatal(err)
			}

			end(server, t)
			if pid := server.PID(); pid != 0 {
				t.Errorf("postmaster %d runs", pid)
			}
			server.Restart(t, Setting("work_mem", "7MB"))

			if server.PID() == before {
				t.Error("the postmaster is the same")
			}
			if got := server.TCPURL("postgres"); got != url {
				t.Errorf("the URL is %s, was %s", got, url)
			}
			conn := server.Connect(t, "postgres")
			var n int
			if err := conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 42 {
				t.Errorf("read %d: %v", n, err)
			}
			if got := show(t, conn, "work_mem"); got != "7MB" {
				t.Errorf("work_mem is %s, want 7MB", got)
			}
		})
	}
}

func TestAServerWaitsForThePortThatItMustKeep(t *testing.T) {
	listener, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := newServer(16, Bindir(t, 16), newPlan([]Option{TCP()}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	server.Port = listener.Addr().(*net.TCPAddr).Port
	server.started = true

	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer listener.Close()
		for !strings.Contains(server.Log(), "Address already in use") && pause(t.Context()) {
		}
	})
	err = server.start()
	waiting.Wait()
	if err != nil {
		t.Error(err)
	}
}
