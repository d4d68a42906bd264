// Package wire is the server side of the Postgres protocol as far as a
// gateway needs it: everything up to the first ReadyForQuery, on both legs.
// After that the bytes are nobody's business; Stream only follows where
// messages begin.
//
// What is read before a client has logged in is read exactly, never ahead,
// and bounded: a startup packet by 10,000 bytes, an authentication message by
// 64 KiB. Time is bounded by the deadline that the caller sets on the
// connection. No length that a peer claims is allocated before it was checked.
package wire
