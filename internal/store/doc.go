// Package store reads and writes the rows of schema lab for the controller
// and the gateway, and knows nothing of what they are used for.
//
// Two identities, as the schema's grants want it: Store works as
// lab_controller, Logins as lab_gateway.
package store
