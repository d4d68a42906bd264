// Package proxy is the gateway's life of a connection: accept, log in, route
// by database name, relay, interrupt, end.
//
// A connection waits in the pending list until its client has logged in, then
// becomes a session, which takes a slot. Its database name is routed to a
// Target, a session is opened there with the client's own startup parameters,
// and from the target's greeting on bytes pass both ways unread. Only message
// headers are followed, so that a drain knows which sessions are idle.
package proxy
