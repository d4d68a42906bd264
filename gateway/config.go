package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// config is what pglab serve is told: by flags, then by PGLAB_* variables.
type config struct {
	data         string
	listen       string
	engine       string // connection string of an existing engine; empty: embedded
	postgresDirs []string
	tlsCert      string
	tlsKey       string
	logLevel     slog.Level
}

// dirList is a flag that may be given again and again.
type dirList []string

func (d *dirList) String() string { return strings.Join(*d, string(os.PathListSeparator)) }

func (d *dirList) Set(dir string) error {
	*d = append(*d, filepath.SplitList(dir)...)
	return nil
}

// parseConfig reads flags and environment. All that is wrong is reported at once.
func parseConfig(args []string, getenv func(string) string, output io.Writer) (config, error) {
	var c config
	var dirs dirList
	var level string
	flags := flag.NewFlagSet("pglab serve", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&c.data, "data", defaultData(getenv), "`directory` of the lab's state")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:5454", "`host:port` to listen on")
	flags.StringVar(&c.engine, "engine", "", "`URL` of an existing Postgres to keep schema lab in, as a superuser, instead of the embedded one\n"+
		"(a password belongs in PGLAB_ENGINE or a password file: others can read flags)")
	flags.Var(&dirs, "postgres-dir", "`directory` with Postgres installations to find servers and pgbench in; may be repeated\n"+
		"(/usr/lib/postgresql/* is always looked at)")
	flags.StringVar(&c.tlsCert, "tls-cert", "", "`file` with the certificate to show; without one pglab makes its own")
	flags.StringVar(&c.tlsKey, "tls-key", "", "`file` with the certificate's key")
	flags.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	flags.Usage = func() {
		fmt.Fprint(output, "pglab serve runs the lab until it is stopped (SIGTERM or Ctrl-C).\n\nFlags, each also as a variable (--data is PGLAB_DATA):\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	if err := fromEnvironment(flags, getenv); err != nil {
		return config{}, err
	}
	c.postgresDirs = dirs
	return c, c.check(flags.Args(), level)
}

// fromEnvironment gives flags that were not set the value of their variable.
func fromEnvironment(flags *flag.FlagSet, getenv func(string) string) error {
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	var problems []error
	flags.VisitAll(func(f *flag.Flag) {
		name := "PGLAB_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := getenv(name); value != "" && !set[f.Name] {
			if err := flags.Set(f.Name, value); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(problems...)
}

func (c *config) check(rest []string, level string) error {
	var problems []error
	if len(rest) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", rest[0]))
	}
	if _, _, err := net.SplitHostPort(c.listen); err != nil {
		problems = append(problems, fmt.Errorf("--listen: %q is not HOST:PORT", c.listen))
	}
	if err := c.logLevel.UnmarshalText([]byte(level)); err != nil {
		problems = append(problems, fmt.Errorf("--log-level: %q is none of debug, info, warn, error", level))
	}
	if (c.tlsCert == "") != (c.tlsKey == "") {
		problems = append(problems, errors.New("--tls-cert and --tls-key go together"))
	}
	if c.data == "" {
		problems = append(problems, errors.New("--data: no home directory to put the lab's state in; name one"))
	} else if absolute, err := filepath.Abs(c.data); err != nil {
		problems = append(problems, fmt.Errorf("--data: %w", err))
	} else {
		c.data = absolute
	}
	return errors.Join(problems...)
}

// defaultData is where a lab's state belongs: the system's place for root,
// the user's own otherwise.
func defaultData(getenv func(string) string) string {
	if os.Geteuid() == 0 {
		return "/var/lib/pglab"
	}
	if state := getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "pglab")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "pglab")
	}
	return ""
}
