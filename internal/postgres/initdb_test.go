package postgres

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInitdbArgsAreExplicitForEveryMajor(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		options map[string]string
		want    []string
	}{
		"14 has no provider": {"14.23", nil, []string{"--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8"}},
		"15":                 {"15.18", nil, []string{"--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=libc"}},
		"17 without checksums says nothing": {"17.10", map[string]string{"data-checksums": "off"},
			[]string{"--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=libc"}},
		"18 without checksums says so": {"18.4", map[string]string{"data_checksums": "off", "wal-segsize": "64"},
			[]string{"--no-data-checksums", "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=libc", "--wal-segsize=64"}},
	} {
		t.Run(name, func(t *testing.T) {
			version, err := ParseVersion(test.version)
			if err != nil {
				t.Fatal(err)
			}
			args, err := initdbArgs(version, "/d", test.options)
			if err != nil {
				t.Fatal(err)
			}
			want := append([]string{"--pgdata=/d", "--username=postgres", "--auth=trust"}, test.want...)
			if !slices.Equal(args, want) {
				t.Errorf("got  %q\nwant %q", args, want)
			}
		})
	}
}

func TestCheckInitdbRefuses(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"option that is ours":        {"pgdata": "/etc"},
		"option that lies":           {"no-sync": ""},
		"option of a later major":    {"builtin-locale": "C"},
		"switch that is neither":     {"data-checksums": "maybe"},
		"zero byte":                  {"locale": "C\x00"},
		"argument hidden in a name":  {"locale=C --auth": "x"},
		"name that starts with dash": {"-k": ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckInitdb(Version{Text: "15.18", Major: 15}, options); !errors.Is(err, ErrInitdbOption) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestInitdbRefusalNamesTheReason(t *testing.T) {
	dir := testDir(t)
	handTo(t, dir)
	datadir := filepath.Join(dir, "data")
	err := Initdb(soon(t), installed(t, "15"), datadir, map[string]string{"locale": "xx_YY'; $(touch x)"}, testAccount(t))
	refused, ok := errors.AsType[*InitdbError](err)
	if !ok || !strings.Contains(refused.Output, "invalid locale name") {
		t.Errorf("err = %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInitdbThatIsCanceledLeavesNothing(t *testing.T) {
	dir := testDir(t)
	handTo(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		defer cancel()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			if _, err := os.Stat(filepath.Join(dir, "data.unfinished", "PG_VERSION")); err == nil {
				return
			}
		}
	}()
	err := Initdb(ctx, installed(t, "15"), filepath.Join(dir, "data"), nil, testAccount(t))
	<-watching
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// handTo gives a directory to the account of the servers.
func handTo(t *testing.T, dir string) {
	t.Helper()
	if account := testAccount(t); account != nil {
		if err := os.Chown(dir, account.UID, account.GID); err != nil {
			t.Fatal(err)
		}
	}
}
