package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs writes stand-ins that answer --version, which is all that Find asks for.
func programs(t *testing.T, bindir, version string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(bindir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s (Somewhere 1)'\n", name, version)
		if err := os.WriteFile(filepath.Join(bindir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindSeesEveryMajor(t *testing.T) {
	for _, major := range []string{"14", "15", "16", "17", "18"} {
		if found := installed(t, major); !found.Version.Released() || !found.HasServer {
			t.Errorf("server of major %s: %+v", major, found)
		}
	}
}

func TestFindTakesRootBinAndFolderOfMajors(t *testing.T) {
	dir := testDir(t)
	programs(t, filepath.Join(dir, "own", "bin"), "91.2", "postgres", "initdb", "pgbench")
	programs(t, filepath.Join(dir, "many", "92", "bin"), "92beta1", "postgres", "initdb")
	programs(t, filepath.Join(dir, "many", "93", "bin"), "93.1", "pgbench")
	for name, given := range map[string]string{
		"its root":          filepath.Join(dir, "own"),
		"its bin":           filepath.Join(dir, "own", "bin"),
		"a folder of roots": dir,
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Find(t.Context(), []string{given}, testAccount(t))
			if err != nil {
				t.Fatal(err)
			}
			server, err := found.Server("91")
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(dir, "own", "bin"); server.Bindir != want || !server.HasPgbench {
				t.Errorf("found %+v, want pgbench, too, in %s", server, want)
			}
		})
	}
	found, err := Find(t.Context(), []string{filepath.Join(dir, "many"), filepath.Join(dir, "own")}, testAccount(t))
	if err != nil {
		t.Fatal(err)
	}
	if server, err := found.Server("92beta1"); err != nil || server.HasPgbench {
		t.Errorf("Server(92beta1) = %+v, %v", server, err)
	}
	if server, err := found.Server(""); err != nil || server.Version.Text != "91.2" {
		t.Errorf("the newest server is %v (%v), want the release 91.2 before the newer beta", server, err)
	}
	if client, err := found.Client(""); err != nil || client.Version.Text != "93.1" {
		t.Errorf("the newest client is %v (%v), want 93.1", client, err)
	}
}

func TestFindNamesGivenDirectoriesWithoutPrograms(t *testing.T) {
	dir := testDir(t)
	found, err := Find(t.Context(), []string{dir, filepath.Join(dir, "absent")}, testAccount(t))
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("err = %v, want both directories named", err)
	}
	if _, err := found.Server(""); err != nil {
		t.Errorf("what lies elsewhere is lost: %v", err)
	}
}

func TestFindRefusesProgramsThatAnswerNonsense(t *testing.T) {
	dir := testDir(t)
	programs(t, filepath.Join(dir, "bin"), "of a kind", "postgres", "initdb")
	if _, err := Find(t.Context(), []string{dir}, testAccount(t)); err == nil || !strings.Contains(err.Error(), `"of"`) {
		t.Errorf("err = %v, want the odd version quoted", err)
	}
}

func TestResolveSaysWhatWasFound(t *testing.T) {
	release, old := Version{Text: "15.18", Major: 15, stage: released, minor: 18}, Version{Text: "13.16", Major: 13, stage: released, minor: 16}
	all := Installations{
		{Bindir: "/a/bin", Version: release, HasServer: true},
		{Bindir: "/b/bin", Version: old, HasPgbench: true},
	}
	_, err := all.Server("16")
	if err == nil || !strings.Contains(err.Error(), "15.18 (/a/bin)") || strings.Contains(err.Error(), "/b/bin") {
		t.Errorf("Server(16): %v, want the servers listed", err)
	}
	if _, err = all.Client("13"); err == nil || !strings.Contains(err.Error(), "use 14 or newer") {
		t.Errorf("Client(13): %v, want it refused as too old", err)
	}
	if _, err = all.Client(""); err == nil || !strings.Contains(err.Error(), "13.16 (/b/bin)") {
		t.Errorf("Client(): %v, want the clients listed", err)
	}
	if _, err = (Installations{}).Server(""); err == nil || !strings.Contains(err.Error(), "found: none") {
		t.Errorf("Server() of nothing: %v", err)
	}
}
