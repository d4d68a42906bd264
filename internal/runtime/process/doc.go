// Package process is the runtime that needs nothing but Postgres programs:
// each server under test and each pgbench is a plain process of this host, in
// a control group of its own where the host lets us make any.
//
// Whatever it knows is in files below its directory. A process is recorded
// before it does anything, by boot id, pid and start time, so that a
// restarted pglab finds what its predecessor left and goes on with it.
package process
