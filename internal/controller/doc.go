// Package controller makes the world match the rows of schema lab: servers
// for lab.clusters, one pgbench at a time for the lanes of lab.runs, nothing
// for rows that are gone.
//
// It is level-triggered: every pass lists rows and acts on what differs from
// the world. Notifications and runtime hints only bring the next pass forward,
// so a lost one costs a moment and never a run. All that must survive a
// restart is in rows, on the host, or in a task's own files; a new controller
// adopts what it finds.
package controller
