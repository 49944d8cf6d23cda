package console

import (
	"bufio"
	"cmp"
	"context"
	"io"

	"github.com/floatgate/ticketing"
)

// export is a list that a person takes away as a file of comma-separated values. It is the act "export" of its page:
// the form has the filter of the page in hidden fields, and /api/v2 has it as members.
type export struct {
	name       string // of the act, such as "audit.export"
	scope      scope
	page       string // the path of the page with the list
	permission ticketing.Permission
	recent     bool   // needs a sign-in within the last ten minutes
	file       string // such as "audit.csv"
	columns    []string
	filter     []string // the members of the page's query that select rows
	// open reads the filter, which it finds in the query of the call, and returns a function that returns the rows of a
	// page and the cursor of the next one, which is empty at the end.
	open func(context.Context, *call) (rowPages, error)
	// record keeps in the audit log that the person takes the list away. It is called once, before the first byte is
	// sent.
	record func(context.Context, *call) error
}

// rowPages returns the rows of the page at a cursor, and the cursor of the next page. The empty cursor is that of the
// first page, and after the last one there is an empty one.
type rowPages func(ctx context.Context, cursor string) (rows [][]string, next string, err error)

// download is a file that is written while it is sent, so that its size does not matter.
type download struct {
	name string
	// body writes the file if it is no list of pages. Its media type is then media, and cut is what follows a body that
	// failed.
	body    func(context.Context, io.Writer) error
	media   string
	cut     string
	columns []string
	first   [][]string // the first page, which was read before anything was sent
	next    string
	pages   rowPages
}

// act returns the act of an export.
func (e export) act() act {
	return newAct(act{
		name: e.name, scope: e.scope, path: e.page + "/export", page: e.page, permission: e.permission, recent: e.recent,
		file: true,
	}, func(m *members) map[string]string {
		values := make(map[string]string, len(e.filter))
		for _, name := range e.filter {
			values[name] = m.optionalText(name)
		}
		return values
	}, func(ctx context.Context, c *call, values map[string]string) (outcome, error) {
		c.values = values
		pages, err := e.open(ctx, c)
		if err != nil {
			return outcome{}, err
		}
		// A refused filter and an absent database are found here, while they can be shown, and leave no entry.
		first, next, err := pages(ctx, "")
		if err != nil {
			return outcome{}, err
		}
		if err := e.record(ctx, c); err != nil {
			return outcome{}, err
		}
		return outcome{
			download: &download{name: e.file, columns: e.columns, first: first, next: next, pages: pages},
		}, nil
	})
}

// write writes the file page by page, and calls sent after each of them. Where a page fails, the last line says that
// the file is cut off, since its status was sent long before. It returns why.
func (d *download) write(ctx context.Context, w io.Writer, sent func()) error {
	if d.body != nil {
		return d.writeBody(ctx, w, sent)
	}
	out := newCSVWriter(w, d.columns)
	out.write([][]string{d.columns})
	rows, next, written := d.first, d.next, 0
	for {
		out.write(rows)
		written += len(rows)
		if gone := out.flush(); gone != nil || next == "" {
			return nil //nolint:nilerr // A browser that went away has no use for an error.
		}
		sent()
		var err error
		if rows, next, err = d.readPage(ctx, next); err != nil {
			out.write([][]string{cutOff(written, len(d.columns))})
			_ = out.flush()
			return err
		}
	}
}

// readPage reads a page. A panic becomes an error, since the file still needs its last line.
func (d *download) readPage(ctx context.Context, cursor string) (rows [][]string, next string, err error) {
	err = guarded(func() error {
		var err error
		rows, next, err = d.pages(ctx, cursor)
		return err
	})
	return rows, next, err
}

// mediaType returns the media type of the file.
func (d *download) mediaType() string { return cmp.Or(d.media, csvType) }

// bodyPart is how much of a file is sent together, in bytes.
const bodyPart = 64 << 10

// writeBody writes a file that is no list of pages.
func (d *download) writeBody(ctx context.Context, w io.Writer, sent func()) error {
	out := bufio.NewWriterSize(partWriter{w, sent}, bodyPart)
	err := guarded(func() error { return d.body(ctx, out) })
	if err != nil {
		_, _ = out.WriteString(d.cut)
	}
	if gone := out.Flush(); gone != nil {
		return nil //nolint:nilerr // A browser that went away has no use for an error.
	}
	return err
}

// partWriter calls sent after each write.
type partWriter struct {
	w    io.Writer
	sent func()
}

func (p partWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.sent()
	return n, err
}
