// Package engine keeps the lab's own Postgres: the server that stores schema
// lab and executes every statement of the control room. It starts an embedded
// one as a child process (or adopts the one that an earlier pglab left), and
// applies the schema to that or to any other server.
package engine
