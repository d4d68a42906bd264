// Package cgroup reads what processes used from the counters that the kernel
// keeps: control groups v1, v2 and both beside each other (Reader), and,
// where nobody may make groups, the process tree under /proc (Tree).
//
// Counters are read through files that stay open, without allocation, so
// that reading fifty times a second costs next to nothing. What the kernel
// does not count here is not measured; it is never zero.
package cgroup
