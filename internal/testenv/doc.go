// Package testenv gives tests the real components: Postgres servers of every
// supported major, psql, pgbench and the pglab binary. Only tests import it.
//
// A test names what it needs and gets it, or fails with the command that
// installs it; nothing is skipped. Everything that is started or written
// here ends with the test, and with the test process at the latest, however
// that ends (see home).
//
// Two environment variables change where things come from: PGLAB_CACHE (what
// deploy/install.sh installs into) and PGLAB_BINARY (a pglab built before).
package testenv
