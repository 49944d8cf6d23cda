package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress is the line on standard error that says what a bench is at: rewritten on a terminal; elsewhere a new line
// for each thing that is begun for the first time. With --json, where standard error is for errors, only a terminal
// gets it.
type progress struct {
	out      io.Writer
	terminal bool
	begun    string
	told     map[string]bool // what was begun before, where lines are not rewritten
	drawn    time.Time
	open     bool // the cursor is behind a line
}

func newProgress(p *program) *progress {
	terminal := onTerminal(p.stderr)
	if p.JSON && !terminal {
		return &progress{out: io.Discard, told: map[string]bool{}}
	}
	return &progress{out: p.stderr, terminal: terminal, told: map[string]bool{}}
}

// redraw is how often a terminal gets a new line.
const redraw = 100 * time.Millisecond

// tell says what is begun, and how far it is.
func (p *progress) tell(begun, format string, args ...any) {
	if !p.terminal {
		if !p.told[begun] {
			fmt.Fprintln(p.out, begun)
		}
		p.told[begun] = true
		return
	}
	if begun == p.begun && time.Since(p.drawn) < redraw {
		return
	}
	p.begun, p.drawn, p.open = begun, time.Now(), true
	fmt.Fprintf(p.out, "\r\x1b[K%s %s", begun, fmt.Sprintf(format, args...))
}

// end takes the line away.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.open = false
}

// newBar is a progress that only a terminal gets.
func newBar(p *program) *progress {
	bar := newProgress(p)
	if !bar.terminal {
		bar.out = io.Discard
	}
	return bar
}

// bar says what is begun, and how far it is.
func (p *progress) bar(begun string, done, total int64) {
	const width = 30
	share := float64(1)
	if total > 0 {
		share = min(float64(done)/float64(total), 1)
	}
	if done >= total {
		p.drawn = time.Time{} // The end is always seen.
	}
	full := int(share * width)
	p.tell(begun, "[%s%s] %3d %%  %d of %d",
		strings.Repeat("#", full), strings.Repeat(".", width-full), int(share*100), done, total) //nolint:mnd // Percent.
}
