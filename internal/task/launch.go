package task

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
)

// Launch is where and as whom a program is to run.
type Launch struct {
	Groups []string // cgroup directories to join: one on v2, one for each controller on v1
	UID    int      // OS user to become; 0: stay
	GID    int      // and its only group
	Gate   bool     // first wait for a byte on descriptor 3; at its end of file, end
	Argv   []string // the program's path and its arguments
}

// Job is a pgbench that `pglab task` runs.
type Job struct {
	Launch
	Dir    string // working directory; empty: stay
	Stdout string // file to append to; empty: ours
	Stderr string
	Status string // file for the Status; empty: none
}

// EnterArgv is the command line that makes exe, the pglab binary, become the program.
func (l Launch) EnterArgv(exe string) []string {
	return append(append([]string{exe, "enter"}, l.flags()...), append([]string{"--"}, l.Argv...)...)
}

// TaskArgv is the command line that makes exe, the pglab binary, run the job.
func (j Job) TaskArgv(exe string) []string {
	argv := append([]string{exe, "task"}, j.flags()...)
	for _, option := range []struct{ name, value string }{
		{"--dir", j.Dir}, {"--stdout", j.Stdout}, {"--stderr", j.Stderr}, {"--status", j.Status},
	} {
		if option.value != "" {
			argv = append(argv, option.name, option.value)
		}
	}
	return append(append(argv, "--"), j.Argv...)
}

func (l Launch) flags() []string {
	var flags []string
	for _, group := range l.Groups {
		flags = append(flags, "--group", group)
	}
	if l.UID != 0 {
		flags = append(flags, "--uid", strconv.Itoa(l.UID), "--gid", strconv.Itoa(l.GID))
	}
	if l.Gate {
		flags = append(flags, "--gate")
	}
	return flags
}

// define declares the flags that both subcommands have.
func (l *Launch) define(flags *flag.FlagSet) {
	flags.Func("group", "cgroup `directory` to join (repeatable)", func(dir string) error {
		l.Groups = append(l.Groups, dir)
		return nil
	})
	flags.IntVar(&l.UID, "uid", 0, "numeric OS `user` to become; 0: stay")
	flags.IntVar(&l.GID, "gid", 0, "numeric OS `group` to become, with --uid")
	flags.BoolVar(&l.Gate, "gate", false, "wait for a byte on descriptor 3 before anything else")
}

func parseEnter(args []string, help io.Writer) (Launch, error) {
	var launch Launch
	flags := flag.NewFlagSet("pglab enter", flag.ContinueOnError)
	flags.SetOutput(help)
	launch.define(flags)
	err := launch.parse(flags, args)
	return launch, err
}

func parseTask(args []string, help io.Writer) (Job, error) {
	var job Job
	flags := flag.NewFlagSet("pglab task", flag.ContinueOnError)
	flags.SetOutput(help)
	job.define(flags)
	flags.StringVar(&job.Dir, "dir", "", "working `directory` of the program")
	flags.StringVar(&job.Stdout, "stdout", "", "`file` for its standard output")
	flags.StringVar(&job.Stderr, "stderr", "", "`file` for its standard error")
	flags.StringVar(&job.Status, "status", "", "`file` for its start, end and exit status")
	err := job.parse(flags, args)
	return job, err
}

func (l *Launch) parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	l.Argv = flags.Args()
	switch {
	case len(l.Argv) == 0:
		return errors.New("no program to run; write it after --")
	case l.UID < 0 || l.GID < 0 || (l.UID == 0) != (l.GID == 0):
		return fmt.Errorf("--uid %d and --gid %d belong together", l.UID, l.GID)
	}
	return nil
}
