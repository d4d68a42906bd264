// Package sampler reads the counters of a run's server and client while it
// runs. It turns them into a row a second (lab.Sample) and, at the end, into
// what each used over the exact window of the run (lab.Usage).
//
// Counters only grow, so usage over a window is their difference between its
// edges, interpolated between the neighbouring readings. Readings are
// therefore dense where edges are to be expected, and sparse elsewhere. They
// are kept in memory and in a journal, from which a restarted pglab goes on.
package sampler
