package main

import (
	"slices"
	"strings"
	"time"
)

// timerSlack is how much later than due Linux may wake a thread of a server, so that several wake together. 0 leaves
// the kernel's own. The default is 500 µs: Go's runtime has a thread that polls every 20 µs whenever the process was
// idle, and a server is, in each group, while it waits for the database. See docs/running.md.
type timerSlack struct{ time.Duration }

const (
	timerSlackFlag    = "timer-slack"
	defaultTimerSlack = 500 * time.Microsecond // as the tag of the flag says
	mostTimerSlack    = 10 * time.Millisecond
)

func (v *timerSlack) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 || parsed > mostTimerSlack {
		return badValue("must be a duration such as 500us, at most %s, or 0", mostTimerSlack)
	}
	v.Duration = parsed
	return nil
}

// setTimerSlackEarly does what [timerSlack.set] does, for a server that was started with the default. To read the flags
// takes as long as all that comes before it, and would be done twice.
func setTimerSlackEarly(args []string, getenv func(string) string) {
	isFlag := func(arg string) bool { return strings.HasPrefix(arg, "--"+timerSlackFlag) }
	chosen := slices.ContainsFunc(args, isFlag) || getenv(variable(timerSlackFlag)) != ""
	if len(args) > 0 && args[0] == "serve" && !chosen {
		coarsenTimers(defaultTimerSlack)
	}
}

// set gives the process the timer slack, if the process is the program's own. It does not return if it could.
func (v timerSlack) set(p *program) {
	if p.sole {
		coarsenTimers(v.Duration)
	}
}
