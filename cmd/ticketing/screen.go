package main

import (
	"os"
	"runtime"
)

// screen is what the program knows about the terminal of an output.
type screen struct {
	terminal bool
	columns  int // 0: not a terminal, or of unknown width
	color    bool
}

// screen returns the screen of the standard output.
func (p *program) screen() screen {
	if !onTerminal(p.stdout) {
		return screen{}
	}
	s := screen{terminal: true}
	if file, ok := p.stdout.(*os.File); ok {
		s.columns = screenColumns(file)
	}
	kind := p.getenv("TERM")
	// A console of Windows may print the escape sequences themselves.
	s.color = p.getenv("NO_COLOR") == "" && kind != "" && kind != "dumb" && runtime.GOOS != "windows"
	return s
}

// paint returns a state in its color: green for what works, yellow for what waits or is paused, red for what has ended
// or failed.
func (s screen) paint(state string) string {
	if !s.color {
		return state
	}
	color := ""
	switch state {
	case "ACTIVE", "APPROVED", "COMPLETED", "CONFIRMED", "ENABLED", "PUBLISHED", "SENT", "SUCCEEDED":
		color = "32"
	case "DRAFT", "PENDING", "PROCESSING", "SUBMITTED", "UNVERIFIED":
		color = "33"
	case "CANCELLED", "DISABLED", "ENDED", "FAILED", "INACTIVE", "REFUNDED", "REJECTED", "REVOKED", "SUSPENDED":
		color = "31"
	default:
		return state
	}
	return "\x1b[" + color + "m" + state + "\x1b[0m"
}
