package main

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(environment map[string]string, args ...string) (config, error) {
	return parseConfig(args, func(name string) string { return environment[name] }, io.Discard)
}

func TestConfigFlagWinsOverEnvironment(t *testing.T) {
	environment := map[string]string{
		"PGLAB_DATA": "/env", "PGLAB_LISTEN": "127.0.0.1:1", "PGLAB_POSTGRES_DIR": "/a:/b", "PGLAB_LOG_LEVEL": "debug",
	}
	got, err := parse(environment, "--data", "/flag", "--listen", "[::1]:5454")
	if err != nil {
		t.Fatal(err)
	}
	want := config{data: "/flag", listen: "[::1]:5454", postgresDirs: []string{"/a", "/b"}, logLevel: slog.LevelDebug}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestConfigRepeatsPostgresDir(t *testing.T) {
	got, err := parse(nil, "--data", "/d", "--postgres-dir", "/a", "--postgres-dir=/b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/a", "/b"}, got.postgresDirs); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
}

func TestConfigReportsEveryFaultAtOnce(t *testing.T) {
	_, err := parse(nil, "--data", "/d", "--listen", "5454", "--log-level", "loud", "--tls-cert", "c.pem", "extra")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`unexpected argument "extra"`, `"5454" is not HOST:PORT`, `"loud" is none of`, "--tls-cert and --tls-key go together"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestConfigHelpIsNotAFault(t *testing.T) {
	if _, err := parse(nil, "--help"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error is %v, want flag.ErrHelp", err)
	}
}
