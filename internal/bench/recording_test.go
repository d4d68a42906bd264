package bench

import (
	"fmt"
	"sort"
	"testing"
	"time"
)

// cpuTimes are the CPU times of everything that takes part in a run.
type cpuTimes struct {
	server   time.Duration // the server's group
	workload time.Duration // the group of server and clients together
	pglab    time.Duration // the process
	engine   time.Duration // every process of it
}

func (c cpuTimes) minus(d cpuTimes) cpuTimes {
	return cpuTimes{c.server - d.server, c.workload - d.workload, c.pglab - d.pglab, c.engine - d.engine}
}

// client is what the clients used, and whatever else ran beside the server.
func (c cpuTimes) client() time.Duration { return c.workload - c.server }

// Readings are close together where the edges of a run are to be expected:
// who reads wakes a CPU that the run could use.
const (
	closeInterval = 10 * time.Millisecond
	wideInterval  = 250 * time.Millisecond
	edgeLength    = 2 * time.Second         // after the start of the recording
	earlyEnd      = -500 * time.Millisecond // before a run could end
)

// recording reads CPU times in the background, from its start to its stop.
type recording struct {
	read     func() (cpuTimes, error)
	length   time.Duration // of the run that is recorded
	at       []time.Time
	readings []cpuTimes
	err      error
	stopping chan struct{}
	stopped  chan struct{}
}

// record starts a recording of a run that is about to be started and takes at
// least the given length.
func record(read func() (cpuTimes, error), length time.Duration) *recording {
	r := &recording{read: read, length: length, stopping: make(chan struct{}), stopped: make(chan struct{})}
	r.take()
	go r.run()
	return r
}

func (r *recording) run() {
	defer close(r.stopped)
	for r.err == nil {
		select {
		case <-time.After(r.interval()):
			r.take()
		case <-r.stopping:
			r.take()
			return
		}
	}
}

func (r *recording) interval() time.Duration {
	elapsed := time.Since(r.at[0])
	if elapsed < edgeLength || elapsed+wideInterval > r.length+earlyEnd {
		return closeInterval
	}
	return wideInterval
}

func (r *recording) take() {
	before := time.Now()
	reading, err := r.read()
	if err != nil {
		r.err = err
		return
	}
	r.at = append(r.at, before.Add(time.Since(before)/2))
	r.readings = append(r.readings, reading)
}

// stop ends the recording after a last reading. Nothing else may be asked before.
func (r *recording) stop(b *testing.B) {
	b.Helper()
	close(r.stopping)
	<-r.stopped
	if r.err != nil {
		b.Fatal(r.err)
	}
}

// all is what was used from the first to the last reading.
func (r *recording) all() cpuTimes {
	return r.readings[len(r.readings)-1].minus(r.readings[0])
}

// between is what was used between two moments, interpolated.
func (r *recording) between(start, end time.Time) (cpuTimes, error) {
	from, err := r.when(start)
	if err != nil {
		return cpuTimes{}, err
	}
	to, err := r.when(end)
	return to.minus(from), err
}

func (r *recording) when(moment time.Time) (cpuTimes, error) {
	next := sort.Search(len(r.at), func(i int) bool { return !r.at[i].Before(moment) })
	if next == 0 || next == len(r.at) {
		return cpuTimes{}, fmt.Errorf("looking at %v: the recording covers %v to %v", moment, r.at[0], r.at[len(r.at)-1])
	}
	a, b := r.readings[next-1], r.readings[next]
	share := float64(moment.Sub(r.at[next-1])) / float64(r.at[next].Sub(r.at[next-1]))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(share*float64(to-from))
	}
	return cpuTimes{
		server:   between(a.server, b.server),
		workload: between(a.workload, b.workload),
		pglab:    between(a.pglab, b.pglab),
		engine:   between(a.engine, b.engine),
	}, nil
}
