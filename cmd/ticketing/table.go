package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/floatgate/ticketing"
)

// column is a column of a table.
type column struct {
	title string
	kind  columnKind
	extra bool // left out where the terminal is too narrow
}

// columnKind is what the cells of a column hold.
type columnKind int

const (
	textKind    columnKind = iota // shortened where the terminal is too narrow
	wordKind                      // never shortened
	idKind                        // an id that commands take as a whole only
	shortIDKind                   // an id of which commands take the beginning
	timeKind
	numberKind // a number or an amount
	stateKind
)

func texts(title string) column    { return column{title: title} }
func words(title string) column    { return column{title: title, kind: wordKind} }
func ids(title string) column      { return column{title: title, kind: idKind} }
func shortIDs(title string) column { return column{title: title, kind: shortIDKind} }
func times(title string) column    { return column{title: title, kind: timeKind} }
func numbers(title string) column  { return column{title: title, kind: numberKind} }
func states(title string) column   { return column{title: title, kind: stateKind} }

// optional returns the column as one that is left out if the terminal is too narrow.
func (c column) optional() column {
	c.extra = true
	return c
}

const (
	cellGap    = "  "
	readable   = 12 // width at which a shortened text is still useful
	narrowest  = 4
	shortestID = 8
	dayHours   = 24
)

// table prints rows in aligned columns. On a terminal it fits its width: times become relative, ids that commands take
// by their beginning are shortened, then texts, and then optional columns are left out. On any other output it prints
// everything unchanged.
type table struct {
	out     *bufio.Writer
	columns []column
	screen  screen
	now     time.Time
	rows    [][]string // that wait to be printed
	layout  *layout    // nil: none were printed
}

// layout is how the rows of a table are printed.
type layout struct {
	relative, short bool
	shown           []int // columns
	idLength        int
	limits          []int // of the widths of the shown columns; 0: none
	widths          []int // of the shown columns in the rows that were printed
}

// tableRows is how many rows of a table are aligned together. A column of later rows is at least as wide.
const tableRows = 500

func (t *table) add(cells []string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(escape(cell))
	}
	if t.rows = append(t.rows, row); len(t.rows) == tableRows {
		t.flush()
	}
}

// flush prints the rows that wait, after the titles if it is the first time.
func (t *table) flush() {
	first := t.layout == nil
	switch {
	case first:
		t.layout = t.fit()
	case len(t.rows) == 0:
		return
	default:
		t.refit()
	}
	t.layout.widths = t.widths(t.layout)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	if first {
		t.print(titles, t.layout.widths, false)
	}
	for _, row := range t.rows {
		t.print(row, t.layout.widths, true)
	}
	t.rows = t.rows[:0]
}

// refit adapts the layout to the rows that follow those that were printed. Columns become wider where a cell needs it
// and there is room; then texts are shortened.
func (t *table) refit() {
	t.layout.idLength = max(t.layout.idLength, t.uniqueLength())
	t.layout.limits = nil
	if t.screen.columns > 0 && !t.shrink(t.layout, readable) {
		t.layout.limits = nil
		t.shrink(t.layout, narrowest)
	}
}

// print prints one line.
func (t *table) print(cells []string, widths []int, format bool) {
	var line strings.Builder
	for i, n := range t.layout.shown {
		c, cell := t.columns[n], cells[n]
		if format {
			cell = t.cell(t.layout, n, cell)
		}
		cell = shorten(cell, widths[i])
		padding := strings.Repeat(" ", widths[i]-textWidth(cell))
		if format && c.kind == stateKind {
			cell = t.screen.paint(cell)
		}
		if i > 0 {
			line.WriteString(cellGap)
		}
		switch last := i == len(t.layout.shown)-1; {
		case c.kind == numberKind:
			line.WriteString(padding + cell)
		case last:
			line.WriteString(cell)
		default:
			line.WriteString(cell + padding)
		}
	}
	_, _ = t.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// cell formats a cell of a column.
func (t *table) cell(l *layout, n int, text string) string {
	switch kind := t.columns[n].kind; {
	case kind == timeKind && l.relative:
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return relativeTime(at, t.now)
		}
	case kind == shortIDKind && l.short && len(text) > l.idLength:
		return text[:l.idLength]
	}
	return text
}

// widths returns the widths of the shown columns.
func (t *table) widths(l *layout) []int {
	widths := make([]int, len(l.shown))
	for i, n := range l.shown {
		widths[i] = textWidth(t.columns[n].title)
		if l.widths != nil {
			widths[i] = max(widths[i], l.widths[i])
		}
		for _, row := range t.rows {
			widths[i] = max(widths[i], textWidth(t.cell(l, n, row[n])))
		}
		if len(l.limits) > 0 && l.limits[i] > 0 {
			widths[i] = min(widths[i], l.limits[i])
		}
	}
	return widths
}

// fit returns the layout that shows most of the rows within the width of the terminal.
func (t *table) fit() *layout {
	l := &layout{shown: make([]int, len(t.columns)), idLength: t.uniqueLength()}
	for n := range t.columns {
		l.shown[n] = n
	}
	if t.screen.columns == 0 || t.excess(l) <= 0 {
		return l
	}
	if l.relative = true; t.excess(l) <= 0 {
		return l
	}
	if l.short = true; t.excess(l) <= 0 {
		return l
	}
	for !t.shrink(l, readable) && t.leaveOut(l) {
		l.limits = nil
	}
	if t.excess(l) > 0 {
		l.limits = nil
		t.shrink(l, narrowest)
	}
	return l
}

// excess returns by how much a line is too wide.
func (t *table) excess(l *layout) int {
	total := len(cellGap) * (len(l.shown) - 1)
	for _, w := range t.widths(l) {
		total += w
	}
	return total - t.screen.columns
}

// shrink limits the widest text columns, to no less than least, until the lines fit. It reports whether they do.
func (t *table) shrink(l *layout, least int) bool {
	widths, excess := t.widths(l), t.excess(l)
	l.limits = make([]int, len(l.shown))
	for ; excess > 0; excess-- {
		widest := -1
		for i, n := range l.shown {
			floor := max(least, textWidth(t.columns[n].title))
			if t.columns[n].kind == textKind && widths[i] > floor && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
		l.limits[widest] = widths[widest]
	}
	return true
}

// leaveOut removes the last optional column. It reports whether there was one.
func (t *table) leaveOut(l *layout) bool {
	for i, column := range slices.Backward(l.shown) {
		if t.columns[column].extra {
			l.shown = append(l.shown[:i], l.shown[i+1:]...)
			return true
		}
	}
	return false
}

// uniqueLength returns the length of the shortest beginnings that differ between all ids of a column.
func (t *table) uniqueLength() int {
	length := shortestID
	for n, c := range t.columns {
		if c.kind != shortIDKind {
			continue
		}
		for ; length < len(ticketing.Event{}.ID.String()); length++ {
			seen, clash := map[string]string{}, false
			for _, row := range t.rows {
				id := row[n]
				beginning := id[:min(length, len(id))]
				other, ok := seen[beginning]
				clash = clash || ok && other != id
				seen[beginning] = id
			}
			if !clash {
				break
			}
		}
	}
	return length
}

// relativeTime formats a time by its distance from now, such as "5m ago" and "in 3d". Distant days are formatted as
// dates.
func relativeTime(at, now time.Time) string {
	const longest = 100 * dayHours * time.Hour
	distance := now.Sub(at)
	past := distance >= 0
	if distance = distance.Abs(); distance >= longest {
		return at.UTC().Format(time.DateOnly)
	}
	text := fmt.Sprintf("%ds", int(distance.Seconds()))
	switch {
	case distance >= dayHours*time.Hour:
		text = fmt.Sprintf("%dd", int(distance.Hours())/dayHours)
	case distance >= time.Hour:
		text = fmt.Sprintf("%dh", int(distance.Hours()))
	case distance >= time.Minute:
		text = fmt.Sprintf("%dm", int(distance.Minutes()))
	}
	if past {
		return text + " ago"
	}
	return "in " + text
}

// shorten returns a text of at most the given width. A shortened text ends with a mark.
func shorten(text string, limit int) string {
	if textWidth(text) <= limit {
		return text
	}
	var short strings.Builder
	used := 1 // of the mark
	for _, r := range text {
		if used += runeWidth(r); used > limit {
			break
		}
		short.WriteRune(r)
	}
	return short.String() + "…"
}

// textWidth returns how many columns of a terminal a text takes.
func textWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns how many columns of a terminal a character takes.
func runeWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianNarrow, width.EastAsianHalfwidth:
	}
	return 1
}
