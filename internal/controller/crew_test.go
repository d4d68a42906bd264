package controller

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCrewRunsOneWorkerForAKey(t *testing.T) {
	var c crew
	release := make(chan struct{})
	if !c.start(t.Context(), "a", func(context.Context) { <-release }) {
		t.Fatal("the first worker was not started")
	}
	if c.start(t.Context(), "a", func(context.Context) { t.Error("a second worker for the key") }) {
		t.Error("a second worker was started")
	}
	if !c.busy("a") || c.busy("b") || c.idle() {
		t.Errorf("busy a %v, busy b %v, idle %v", c.busy("a"), c.busy("b"), c.idle())
	}
	close(release)
	c.wait()
	if c.busy("a") || !c.idle() {
		t.Error("the crew is busy after its work")
	}
}

func TestCrewTellsWorkersWhyTheyEnd(t *testing.T) {
	var c crew
	gone, other := errors.New("gone"), errors.New("other")
	causes := make(chan error, 2)
	for _, key := range []string{"kept", "dropped"} {
		c.start(t.Context(), key, func(ctx context.Context) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
	}
	c.retain(map[string]bool{"kept": true}, gone)
	if cause := <-causes; cause != gone {
		t.Errorf("dropped worker ended by %v", cause)
	}
	c.cancel("kept", other)
	if cause := <-causes; cause != other {
		t.Errorf("kept worker ended by %v", cause)
	}
	c.cancel("never started", other)
	c.wait()
}

func TestCrewWakesWorkersAndKeepsOneWakeForTheBusy(t *testing.T) {
	var c crew
	woke, again := make(chan struct{}), make(chan struct{})
	c.start(t.Context(), "a", func(ctx context.Context) {
		<-woken(ctx)
		close(woke)
		<-again
		<-woken(ctx) // sent while it was busy
	})
	c.wakeAll()
	<-woke
	c.wakeAll()
	c.wakeAll()
	close(again)
	c.wait()
}
