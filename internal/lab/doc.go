// Package lab is the domain: clusters, runs, samples, results, and the
// Runtime that turns rows into real servers and tasks. It imports the
// standard library only; every other package speaks in its words.
package lab
