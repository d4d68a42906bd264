package postgres

import (
	"fmt"
	"strings"
)

// OldestClient is the first major whose pgbench prints its initial
// connection time, without which the measured window cannot be known.
const OldestClient = 14

// Server picks the installation that runs a server of the asked version: a
// major ("16": its newest minor), an exact version ("17.10"), or "" for the
// newest release. The error is for the user and lists what was found.
func (all Installations) Server(asked string) (Installation, error) {
	servers := all.only(func(i Installation) bool { return i.HasServer })
	if picked, ok := servers.newest(asked); ok {
		return picked, nil
	}
	return Installation{}, fmt.Errorf("no Postgres %s among the servers found: %s; install it, or name its folder with --postgres-dir",
		orAny(asked), servers)
}

// Client picks the installation whose pgbench is of the asked version, as
// Server does, among those of OldestClient and newer.
func (all Installations) Client(asked string) (Installation, error) {
	clients := all.only(func(i Installation) bool { return i.HasPgbench })
	usable := clients.only(func(i Installation) bool { return i.Version.Major >= OldestClient })
	if picked, ok := usable.newest(asked); ok {
		return picked, nil
	}
	if tooOld, ok := clients.newest(asked); ok && asked != "" {
		return Installation{}, fmt.Errorf("pgbench %s does not print what the measured window is computed from; use %d or newer, found: %s",
			tooOld.Version, OldestClient, usable)
	}
	return Installation{}, fmt.Errorf("no pgbench %s among those found: %s; install it, or name its folder with --postgres-dir",
		orAny(asked), clients)
}

func orAny(asked string) string {
	if asked == "" {
		return "of any version"
	}
	return asked
}

func (all Installations) only(keep func(Installation) bool) Installations {
	var kept Installations
	for _, installation := range all {
		if keep(installation) {
			kept = append(kept, installation)
		}
	}
	return kept
}

// newest is the newest installation that matches; unasked, a pre-release is
// taken only when there is nothing else.
func (all Installations) newest(asked string) (Installation, bool) {
	var fallback Installation
	for _, installation := range all {
		if asked != "" && !installation.Version.Matches(asked) {
			continue
		}
		if installation.Version.Released() || installation.Version.Text == asked {
			return installation, true
		}
		if fallback.Bindir == "" {
			fallback = installation
		}
	}
	return fallback, fallback.Bindir != ""
}

// String lists versions and places for a message.
func (all Installations) String() string {
	if len(all) == 0 {
		return "none"
	}
	names := make([]string, len(all))
	for i, installation := range all {
		names[i] = installation.String()
	}
	return strings.Join(names, ", ")
}
