package sampler

import "time"

// run takes readings until the sampler is closed. Readings are due at fixed
// times; those that were missed while the machine was busy stay missed.
func (s *Sampler) run() {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := s.clock.elapsed()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		s.mu.Lock()
		s.sample()
		now := s.clock.elapsed()
		interval := s.pace.interval(now)
		s.mu.Unlock()
		for due <= now {
			due += interval
		}
		timer.Reset(due - now)
	}
}

// sample reads both roles and ends their rows when these are due.
func (s *Sampler) sample() {
	moment := s.clock.elapsed()
	ending := moment >= s.rowDue
	dense := s.pace.dense(moment)
	gauges := ending || moment >= s.gaugesDue
	if gauges {
		s.gaugesDue = moment + slowInterval*9/10 // every one of the slow readings has them
	}
	for _, track := range s.tracks {
		taken := track.read(s.clock.elapsed, gauges)
		if ending || taken && dense {
			s.keep(track)
		}
	}
	if ending {
		for _, track := range s.tracks {
			s.endRow(track, moment)
		}
		for s.rowDue <= moment {
			s.rowDue += rowInterval
		}
		s.flush()
	}
}

// keep moves a role's latest readings into its history and the journal.
func (s *Sampler) keep(track *track) {
	if kept, ok := track.keep(); ok && s.journal != nil {
		s.lines = appendReading(s.lines, track.role, &kept)
	}
}

// flush hands what was kept to the journal. Once a second is enough: each
// time wakes another thread, which costs more than the readings do.
func (s *Sampler) flush() {
	if s.journal != nil {
		s.journal.put(s.lines...)
		s.lines = s.lines[:0]
	}
}

// endRow hands a row to the sink.
func (s *Sampler) endRow(track *track, moment time.Duration) {
	if row, ok := track.endRow(s.clock, moment); ok && s.rows != nil {
		s.rows.put(row)
	}
}
