// Package runtimetest is the conformance suite of lab.Runtime: what every
// implementation has to do alike, tried on real servers and real pgbench runs.
package runtimetest
