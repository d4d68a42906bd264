package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 4711 1 1"
	const twoThreads = " 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 2 0 4711 1 1"
	for name, test := range map[string]struct {
		text    string
		start   uint64
		running bool
		fails   bool
	}{
		"plain":                            {text: "7 (postgres) S" + tail, start: 4711, running: true},
		"name with space and paren":        {text: "7 (a) Z 1 (b) R" + tail, start: 4711, running: true},
		"zombie":                           {text: "7 (postgres) Z" + tail, start: 4711},
		"first thread ended, another runs": {text: "7 (pglab) Z" + twoThreads, start: 4711, running: true},
		"cut short":                        {text: "7 (postgres) S 1 1", fails: true},
		"empty":                            {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			start, running, err := parseStat([]byte(test.text))
			if start != test.start || running != test.running || (err != nil) != test.fails {
				t.Errorf("got %d, %v, %v", start, running, err)
			}
		})
	}
}

func TestIdentityOfAnotherTimeIsNotAlive(t *testing.T) {
	now, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !now.Alive() {
		t.Error("we are not alive")
	}
	otherBoot, otherStart := now, now
	otherBoot.Boot = "0f0f0f0f-0000-4000-8000-000000000000"
	otherStart.Start--
	for _, id := range []Identity{otherBoot, otherStart, {}, {PID: -1}} {
		if id.Alive() {
			t.Errorf("%+v is alive", id)
		}
		if err := id.Signal(0); !errors.Is(err, ErrNotRunning) {
			t.Errorf("signalling %+v: %v", id, err)
		}
		if err := id.Wait(t.Context()); err != nil {
			t.Errorf("waiting for %+v: %v", id, err)
		}
	}
	if started, err := now.StartedAt(); err != nil || time.Since(started) < 0 || time.Since(started) > time.Hour {
		t.Errorf("we started at %v, %v", started, err)
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := id.Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	if id.Alive() { // it is a zombie: nobody has reaped it
		t.Error("a zombie is alive")
	}
	_ = cmd.Wait()
}

// TestProcessIsAliveWhileItExecs looks at a program that has threads all the
// time while it becomes another one, over and over.
func TestProcessIsAliveWhileItExecs(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child, err := Start(Command{Argv: []string{exe, "exec", "20"}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		alive := child.Alive()
		if _, ended := child.Exit(); ended {
			break
		}
		// Between being a zombie and being reaped it may well not be alive.
		if !alive && child.Wait(expired(t)) != nil {
			t.Fatal("taken for dead while it runs")
		}
	}
	if exit, _ := child.Exit(); exit.Code != 0 {
		t.Error(exit)
	}
}

// expired is a context that has ended: Wait only looks.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestWaitEndsWithItsContext(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := id.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestChildTellsHowItEnded(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   string
	}{
		"exit status": {"exit 3", "exited with status 3"},
		"signal":      {"kill -9 $$", "ended by signal 9 (killed)"},
	} {
		t.Run(name, func(t *testing.T) {
			child, err := Start(Command{Argv: []string{"/bin/sh", "-c", test.script}, As: testAccount(t)})
			if err != nil {
				t.Fatal(err)
			}
			<-child.Done()
			if exit, ended := child.Exit(); !ended || exit.String() != test.want {
				t.Errorf("exit = %v, %v", exit, ended)
			}
		})
	}
}

func TestGateHoldsAChildUntilItIsOpened(t *testing.T) {
	start := func() *Child {
		child, err := Start(Command{Argv: []string{"/bin/sh", "-c", "read line <&3 && exit 5"}, Gate: true})
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	opened := start()
	if err := opened.Open(); err != nil {
		t.Fatal(err)
	}
	<-opened.Done()
	if exit, _ := opened.Exit(); exit.Code != 5 {
		t.Errorf("through the gate: %v", exit)
	}
	refused := start()
	refused.Refuse()
	if exit, _ := refused.Exit(); exit.Code != 1 {
		t.Errorf("refused: %v", exit)
	}
}

func TestStartSaysWhatCannotBeRun(t *testing.T) {
	if _, err := Start(Command{Argv: []string{"/nowhere/postgres"}, Gate: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
}
