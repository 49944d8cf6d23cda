package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/floatgate/ticketing"
)

// listFlags are the flags of commands that may print long lists.
type listFlags struct {
	Limit listLimit `help:"Show at most N; 0 shows all. Defaults to 50 on a terminal, and to all elsewhere." placeholder:"N" xor:"limit"`
	All   bool      `help:"Show all." xor:"limit"`
}

// listLimit is how many records a list shows.
type listLimit struct {
	count

	given bool
}

func (v *listLimit) UnmarshalText(text []byte) error {
	v.given = true
	return v.count.UnmarshalText(text)
}

// terminalRows is how many rows a list shows on a terminal by default.
const terminalRows = 50

// list prints records one by one, so that it never holds all of them: as a JSON array, as ids alone, or as a table for
// a person.
type list struct {
	json, quiet bool
	hasID       bool // the first cell of a row is an id
	out         *bufio.Writer
	table       *table
	rows        int
	limit       int  // 0: none
	hint        bool // say how to see more
	terminal    bool
}

// errListFull ends a list that has reached its limit.
var errListFull = errors.New("the list has reached its limit")

// list prints the records that each adds.
func (p *program) list(flags listFlags, columns []column, each func(*list) error) error {
	l := &list{json: p.JSON, quiet: p.Quiet, out: bufio.NewWriter(p.stdout), terminal: onTerminal(p.stdout)}
	l.hasID = len(columns) > 0 && (columns[0].kind == idKind || columns[0].kind == shortIDKind)
	screen := p.screen()
	if !l.json && !l.quiet {
		l.table = &table{out: l.out, columns: columns, screen: screen, now: time.Now()}
	}
	switch {
	case flags.All:
	case flags.Limit.given:
		l.limit = int(flags.Limit.count)
	case l.table != nil && screen.terminal:
		l.limit, l.hint = terminalRows, true
	}
	err := each(l)
	if err != nil && !errors.Is(err, errListFull) {
		return err // The list is left incomplete.
	}
	return l.end(err != nil)
}

// params returns the first page to ask for.
func (l *list) params() ticketing.PageParams {
	if l.limit > 0 && l.limit < ticketing.MaxPageLimit {
		return ticketing.PageParams{Limit: l.limit + 1} // One more shows that there is more.
	}
	return ticketing.PageParams{Limit: ticketing.MaxPageLimit}
}

// add prints one record: value as JSON, or cells for a person.
func (l *list) add(value any, cells ...string) error {
	if l.limit > 0 && l.rows == l.limit {
		return errListFull
	}
	l.rows++
	switch {
	case l.quiet && !l.hasID:
		return nil
	case l.quiet:
		_, err := fmt.Fprintln(l.out, escape(cells[0]))
		return outputError(err)
	case !l.json:
		if l.table.add(cells); l.rows%tableRows == 0 {
			return outputError(l.out.Flush())
		}
		return nil
	}
	opening := ","
	if l.rows == 1 {
		opening = "["
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, _ = l.out.WriteString(opening)
	if l.terminal {
		text = escapeJSON(text)
	}
	_, err = l.out.Write(text)
	return outputError(err)
}

// end completes the list. With more, there are records that it does not show.
func (l *list) end(more bool) error {
	switch {
	case l.quiet:
	case !l.json && l.rows == 0 && l.table.screen.terminal:
		_, _ = l.out.WriteString("Nothing to list.\n")
	case !l.json:
		l.table.flush()
		if more && l.hint {
			fmt.Fprintf(l.out, "The first %d are shown: --all shows all, and --limit N shows N.\n", l.limit)
		}
	case l.rows == 0:
		_, _ = l.out.WriteString("[]\n")
	default:
		_, _ = l.out.WriteString("]\n")
	}
	return outputError(l.out.Flush())
}

// eachOf calls yield for each record.
func eachOf[T any](records []T, yield func(T) error) error {
	for _, record := range records {
		if err := yield(record); err != nil {
			return err
		}
	}
	return nil
}

// eachPage calls yield for each record of all pages.
func eachPage[T any](
	params ticketing.PageParams, page func(ticketing.PageParams) (ticketing.Page[T], error), yield func(T) error,
) error {
	for {
		got, err := page(params)
		if err != nil {
			return err
		}
		if err := eachOf(got.Items, yield); err != nil || !got.HasMore {
			return err
		}
		params.Cursor = got.NextCursor
	}
}
