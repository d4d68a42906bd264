// Package bench measures what the lab itself costs, on the real program and
// real servers: `make bench`. There is nothing in it to import.
//
// Every figure is a ratio or a difference within one run, interleaved with
// what it is compared with, because the speed of a shared machine wanders by
// more than the bounds allow. A figure whose bound is broken fails the
// benchmark. `go test -short -bench .` tries everything with a few short
// runs, whose figures mean little.
//
// # What is compared
//
// The same pgbench, with the same arguments, OS user and server, once queued
// through the lab and once started by hand, in the order ABBA. By hand it
// runs in a control group made like that of the lab's own task: where a
// process is scheduled changes its speed by more than the lab costs, and
// whoever compares servers under limits has groups anyway. Before each run
// the server is vacuumed and checkpointed, by the lab or by hand. The lab
// stays up, idle, while pgbench runs by hand.
//
// CPU time is the kernel's, in nanoseconds: the counter of the server's
// group, that of the group which holds server and client together, and the
// CPU clocks of pglab and of every process of the engine. They are read a
// hundred times a second around the edges of a run, alike in both arms.
// Everything that pglab and the engine do from the INSERT until the lane is
// free again is charged to the run.
package bench
