package testenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Option changes a server before its first start.
type Option func(*plan)

// plan is what the options of a server add up to.
type plan struct {
	settings map[string]string
	hba      []string
	tcp      bool
}

// Setting gives the server a setting, as in postgresql.conf.
func Setting(name, value string) Option {
	return func(p *plan) { p.settings[name] = value }
}

// HBA puts lines in front of those that pg_hba.conf has anyway: trust on the
// unix socket, scram-sha-256 on TCP.
func HBA(lines ...string) Option {
	return func(p *plan) { p.hba = append(p.hba, lines...) }
}

// TCP makes the server listen on 127.0.0.1 too, on a port that is free.
func TCP() Option {
	return func(p *plan) { p.tcp = true }
}

// newPlan starts from what makes a short life fast.
func newPlan(options []Option) *plan {
	p := &plan{settings: map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"synchronous_commit": "off",
		"shared_buffers":     "32MB",
		"log_line_prefix":    "%m [%p] %q%u@%d ",
	}}
	for _, option := range options {
		option(p)
	}
	return p
}

// config is the text of ourConfig.
func (p *plan) config(socketDir string, port int) string {
	settings := maps.Clone(p.settings)
	settings["unix_socket_directories"] = socketDir
	settings["port"] = fmt.Sprint(port)
	settings["listen_addresses"] = ""
	if p.tcp {
		settings["listen_addresses"] = loopback
	}
	quote := strings.NewReplacer(`\`, `\\`, `'`, `''`)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, quote.Replace(settings[name]))
	}
	return text.String()
}

// rules is the text of pg_hba.conf.
func (p *plan) rules() string {
	lines := append(slices.Clone(p.hba),
		"local all all trust",
		"local replication all trust",
		"host all all "+loopback+"/32 scram-sha-256",
	)
	return strings.Join(lines, "\n") + "\n"
}
