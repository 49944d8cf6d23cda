package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress is the line on standard error that shows what a bench is doing. A terminal's line is rewritten; other
// outputs get a new line when a step begins for the first time. With --json, standard error is reserved for errors, and
// only a terminal shows progress.
type progress struct {
	out      io.Writer
	terminal bool
	begun    string
	printed  map[string]bool // steps that were printed before, if lines are not rewritten
	drawn    time.Time
	open     bool // the cursor is at the end of a progress line
}

func newProgress(p *program) *progress {
	terminal := onTerminal(p.stderr)
	if p.JSON && !terminal {
		return &progress{out: io.Discard, printed: map[string]bool{}}
	}
	return &progress{out: p.stderr, terminal: terminal, printed: map[string]bool{}}
}

// redraw is the minimum time between two redraws of the line on a terminal.
const redraw = 100 * time.Millisecond

// report shows the current step, and how far it is.
func (p *progress) report(begun, format string, args ...any) {
	if !p.terminal {
		if !p.printed[begun] {
			fmt.Fprintln(p.out, begun)
		}
		p.printed[begun] = true
		return
	}
	if begun == p.begun && time.Since(p.drawn) < redraw {
		return
	}
	p.begun, p.drawn, p.open = begun, time.Now(), true
	fmt.Fprintf(p.out, "\r\x1b[K%s %s", begun, fmt.Sprintf(format, args...))
}

// end erases the line.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.open = false
}

// newBar returns a progress that only a terminal shows.
func newBar(p *program) *progress {
	bar := newProgress(p)
	if !bar.terminal {
		bar.out = io.Discard
	}
	return bar
}

// bar shows the current step, and a bar of how far it is.
func (p *progress) bar(begun string, done, total int64) {
	const width = 30
	share := float64(1)
	if total > 0 {
		share = min(float64(done)/float64(total), 1)
	}
	if done >= total {
		p.drawn = time.Time{} // The final state is always drawn.
	}
	full := int(share * width)
	p.report(begun, "[%s%s] %3d %%  %d of %d",
		strings.Repeat("#", full), strings.Repeat(".", width-full), int(share*100), done, total) //nolint:mnd // Percent.
}
