package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"
)

// dataFlag reads the flags of the commands that look for a running pglab.
func dataFlag(command string, args []string) (data string, ok bool) {
	flags := flag.NewFlagSet("pglab "+command, flag.ContinueOnError)
	flags.StringVar(&data, "data", defaultData(os.Getenv), "`directory` of the lab's state")
	if value := os.Getenv("PGLAB_DATA"); value != "" {
		data = value
	}
	return data, flags.Parse(args) == nil && flags.NArg() == 0
}

// status tells which pglab runs on the data directory; exit code 3 when none does.
func status(args []string) int {
	data, ok := dataFlag("status", args)
	if !ok {
		return 2
	}
	found, err := findInstance(data)
	if errors.Is(err, errNotRunning) {
		fmt.Println(err)
		return 3
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pglab:", err)
		return 1
	}
	fmt.Printf("pglab %s runs on %s: pid %d, listening on %s\n", found.Version, data, found.PID, found.Listen)
	return 0
}

// stopTimeout is longer than serve's own deadline for its drain.
const stopTimeout = 90 * time.Second

// stop ends the pglab that runs on the data directory and waits for it.
func stop(args []string) int {
	data, ok := dataFlag("stop", args)
	if !ok {
		return 2
	}
	found, err := findInstance(data)
	if errors.Is(err, errNotRunning) {
		fmt.Println(err)
		return 0
	}
	if err == nil {
		err = syscall.Kill(found.PID, syscall.SIGTERM)
	}
	for deadline := time.Now().Add(stopTimeout); err == nil; time.Sleep(50 * time.Millisecond) {
		if _, err := findInstance(data); errors.Is(err, errNotRunning) {
			fmt.Println("pglab stopped; its data stay in", data)
			return 0
		}
		if time.Now().After(deadline) {
			err = fmt.Errorf("pid %d still runs after %v", found.PID, stopTimeout)
		}
	}
	fmt.Fprintln(os.Stderr, "pglab: stopping:", err)
	return 1
}
