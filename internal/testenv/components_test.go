package testenv

import (
	"strconv"
	"strings"
	"testing"
)

func TestPgbenchOfOtherMajorsWorks(t *testing.T) {
	url := Postgres(t, 16).URL("postgres")
	initialize := Run(t.Context(), t, Pgbench(t, 17), Call{Args: []string{"-i", "-q", url}})
	if initialize.Code != 0 {
		t.Fatalf("pgbench -i: %+v", initialize)
	}
	for _, major := range []int{13, 17, 18} {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			pgbench := Pgbench(t, major)
			version := Run(t.Context(), t, pgbench, Call{Args: []string{"--version"}})
			if !strings.HasPrefix(version.Stdout, "pgbench (PostgreSQL) "+strconv.Itoa(major)) {
				t.Errorf("pgbench --version: %+v", version)
			}
			bench := Run(t.Context(), t, pgbench, Call{Args: []string{"-n", "-S", "-t", "10", url}})
			if bench.Code != 0 || !strings.Contains(bench.Stdout, "transactions actually processed: 10/10") {
				t.Errorf("pgbench -S: %+v", bench)
			}
		})
	}
}

func TestAMissingServerIsNamedWithItsCommand(t *testing.T) {
	t.Setenv("PGLAB_CACHE", t.TempDir())
	_, err := findServer(9)
	if err == nil || !strings.Contains(err.Error(), "run deploy/install.sh postgres 9") {
		t.Errorf("the error is %v", err)
	}
}
