package main

import "time"

// timerSlack is how much later than due Linux may wake a thread of a server, so that several wake together. 0 leaves
// the kernel's own. The default is 500 µs: Go's runtime has a thread that polls every 20 µs whenever the process was
// idle, and a server is, in each group, while it waits for the database. See docs/running.md.
type timerSlack struct{ time.Duration }

const mostTimerSlack = 10 * time.Millisecond

func (v *timerSlack) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 || parsed > mostTimerSlack {
		return badValue("must be a duration such as 500us, at most %s, or 0", mostTimerSlack)
	}
	v.Duration = parsed
	return nil
}

// set gives the process the timer slack, if the process is the program's own. It does not return if it could.
func (v timerSlack) set(p *program) {
	if p.sole {
		coarsenTimers(v.Duration)
	}
}
