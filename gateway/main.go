// Command pglab is a Postgres endpoint for a whole benchmark lab.
package main

import (
	"fmt"
	"os"

	"pglab/internal/task"
)

const usage = `pglab: a Postgres endpoint for a whole benchmark lab

  pglab serve [flags]   run the lab; pglab serve --help lists the flags
  pglab status          tell whether it runs
  pglab stop            stop it; its data stay
  pglab version         print the version

Everything else is SQL: connect with psql and look at schema lab.
`

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 done, 1 it went wrong, 2 used wrongly.
func run(args []string) int {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "serve":
		return serve(args)
	case "status":
		return status(args)
	case "stop":
		return stop(args)
	case "task": // the shim around every pgbench
		return task.Main(args)
	case "enter": // the shim in front of every server
		return task.Enter(args)
	case "version", "--version":
		fmt.Println("pglab " + version())
		return 0
	case "help", "--help", "-h":
		fmt.Print(usage)
		return 0
	}
	fmt.Fprint(os.Stderr, usage)
	return 2
}
