// Package task is the shim inside every workload, run as subcommands of the
// pglab binary. `pglab task` runs one pgbench and outlives whoever started
// it: output goes to files and the exit status to a file that is renamed into
// place, so that another process can take over. `pglab enter` joins cgroups,
// gives up privileges and becomes another program.
package task
