// Package postgres is what this host offers of Postgres: the installations
// found on it, initdb, and postmasters as processes that are started,
// recognised again after a restart of ours, waited for and stopped.
//
// A nil *Account everywhere means "as the user that we are".
package postgres
