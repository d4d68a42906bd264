// Package pgbench speaks with pgbench, 14 and newer: it writes the arguments
// of a run, refuses scripts that would start programs, and reads progress,
// summary and window out of what pgbench prints. It starts nothing itself.
package pgbench
