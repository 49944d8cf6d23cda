package console

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// The limits of concurrent downloads. Each holds a connection, and reads as fast as its browser.
const (
	maxDownloads        = 16 // of a process
	maxCompanyDownloads = 4  // of a company; those of the platform's own lists count together, too
	maxUserDownloads    = 2  // of a person
	// retryDownload is when a person may try again, in seconds.
	retryDownload = 30
)

const (
	// recheckEvery is how often the permission of the person is checked while a file is sent.
	recheckEvery = 3 * time.Second
	// recheckWait is how long that may take.
	recheckWait = 10 * time.Second
	// pageWait is how long a browser may take to receive a page of a download.
	pageWait = time.Minute
	// lastLineWait is how long it may take to receive the rest of one that is cut off.
	lastLineWait = 5 * time.Second
)

// errDraining cuts off the downloads of a server that shuts down. Otherwise the server would wait for them.
var errDraining = errors.New("console: the server shuts down")

// download is a file that is written while it is sent, so that its size does not matter.
type download struct {
	name string
	// body writes the file if it is not a list of pages. Its media type is then media, and cut follows a body that
	// failed.
	body    func(context.Context, io.Writer) error
	media   string
	cut     string
	columns []string
	first   [][]string // the first page, which was read before anything was sent
	next    string
	pages   rowPages

	// recheck returns why the person may no longer have the file.
	recheck func(context.Context) error
	// end is called when nothing more is sent.
	end func()
}

// downloads counts the files that a process sends.
type downloads struct {
	mu        sync.Mutex
	all       int
	companies map[uuid.UUID]int
	users     map[uuid.UUID]int
}

func newDownloads() *downloads {
	return &downloads{companies: map[uuid.UUID]int{}, users: map[uuid.UUID]int{}}
}

// begin counts a download until end is called. It fails with RATE_LIMITED if there are too many.
func (d *downloads) begin(companyID, userID uuid.UUID) (end func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := ""
	switch {
	case d.users[userID] >= maxUserDownloads:
		text = fmt.Sprintf("You have %d downloads under way. Start another one when one of them has ended.", maxUserDownloads)
	case d.companies[companyID] >= maxCompanyDownloads:
		text = fmt.Sprintf("%d downloads are under way here. Start another one when one of them has ended.",
			maxCompanyDownloads)
	case d.all >= maxDownloads:
		text = "Too many downloads are under way. Start yours in a moment."
	}
	if text != "" {
		return nil, &limitError{&ticketing.Error{Code: ticketing.CodeRateLimited, Message: text}, retryDownload}
	}
	d.all++
	d.companies[companyID]++
	d.users[userID]++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.all--
		countDown(d.companies, companyID)
		countDown(d.users, userID)
	}), nil
}

// countDown decrements a count, and removes a key without downloads.
func countDown(counts map[uuid.UUID]int, key uuid.UUID) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// asDownload returns the function of an act whose response is a download that was begun. The download ends when nothing
// more is sent, and at once if there is no file.
func (x *exchange) asDownload(
	a *act, do func(context.Context) (outcome, error), end func(),
) func(context.Context) (outcome, error) {
	return func(ctx context.Context) (done outcome, err error) {
		defer func() {
			if done.download == nil {
				end()
			}
		}()
		done, err = do(ctx)
		if done.download != nil {
			done.download.end = end
			done.download.recheck = func(ctx context.Context) error { return x.mayStill(ctx, a) }
		}
		return done, err
	}
}

// mayStill checks again the session of a request and the permission for its act.
func (x *exchange) mayStill(ctx context.Context, a *act) error {
	if err := x.isStillIn(ctx); err != nil {
		return err
	}
	c, err := x.newCall(a.scope)
	if err != nil {
		return err
	}
	visit, err := x.accounts.Visit(ctx, ticketing.VisitParams{UserID: x.visitor.userID, CompanyID: c.companyID})
	if err != nil {
		return err
	}
	if err := c.admit(a.scope, visit); err != nil {
		return err
	}
	return c.allow(a)
}

// isStillIn checks the session of a request again, by its id: a confirmation in the meantime has changed its secret. If
// the host identifies people, it calls Identify again.
func (x *exchange) isStillIn(ctx context.Context) error {
	if x.config.Identify != nil {
		again, err := x.hostVisitor(ctx, ticketing.VisitParams{})
		if err == nil && again.userID != x.visitor.userID {
			err = errSignIn
		}
		return err
	}
	sessions, err := x.accounts.ListSessions(ctx, x.visitor.userID)
	own := func(s ticketing.Session) bool { return s.ID == x.visitor.sessionID }
	if err == nil && !slices.ContainsFunc(sessions, own) {
		err = errSignIn
	}
	return err
}

// sendFile sends a download. It cuts the file off when the person may no longer have it, and when the server shuts
// down.
func (x *exchange) sendFile(ctx context.Context, d *download) {
	x.w.Header().Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	sending, stop := context.WithCancelCause(ctx)
	deadline := &fileDeadline{control: http.NewResponseController(x.w)}
	deadline.begin() // Otherwise a browser that does not read could hold a large first page.
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := x.watchFile(sending, d); err != nil {
			stop(err)
			deadline.hurry()
		}
	})
	err := d.write(sending, x.w, deadline.extend)
	why := context.Cause(sending)
	stop(nil)
	watching.Wait() // From here on only the server uses the writer.
	switch {
	case err == nil:
	case errors.Is(why, errDraining) || refusalOf(why) != nil:
		x.config.Logger.LogAttrs(ctx, slog.LevelInfo, "console download cut off", slog.String("requestId", x.id),
			slog.String("file", d.name), slog.String("reason", why.Error()))
	default:
		x.logFault(ctx, fmt.Errorf("console: the download %s was cut off: %w", d.name, cmp.Or(why, err)))
	}
}

// watchFile returns why a download must be cut off, and nil when it has ended. A failed check cuts it off, too.
func (x *exchange) watchFile(ctx context.Context, d *download) error {
	drain := x.live.draining(x.r)
	again := time.NewTicker(recheckEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-drain:
			return errDraining
		case <-again.C:
		}
		err := guarded(func() error {
			ctx, cancel := context.WithTimeout(ctx, recheckWait)
			defer cancel()
			return d.recheck(ctx)
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// fileDeadline is when the browser must have received what was written of a download. The server's time for a whole
// response applies to each page.
type fileDeadline struct {
	control *http.ResponseController

	mu   sync.Mutex
	last bool // the rest of the file must be received
}

// extend sends what was written, and begins the time of another page. A writer without deadlines needs none. One that
// cannot flush sends by itself.
func (d *fileDeadline) extend() {
	_ = d.control.Flush()
	d.begin()
}

// begin begins the time of a page, also on a host whose server has no time limit for responses.
func (d *fileDeadline) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.last {
		_ = d.control.SetWriteDeadline(time.Now().Add(pageWait))
	}
}

// hurry leaves time for a last line. It does not wait longer for a browser that has stopped reading.
func (d *fileDeadline) hurry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = true
	_ = d.control.SetWriteDeadline(time.Now().Add(lastLineWait))
}

// write writes the file page by page, and calls sent after each of them. If a page fails or the context ends, the last
// line says that the file is cut off, since its status was sent long before. It returns why.
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
		if err := ctx.Err(); err != nil {
			return err
		}
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

// writeBody writes a file that is not a list of pages. The body checks the context itself, so that the last line can
// still be written after the context has ended.
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

// endingWriter stops writing when its context has ended.
type endingWriter struct {
	ctx context.Context //nolint:containedctx // The writer is for one call, which has the context.
	w   io.Writer
}

func (e endingWriter) Write(b []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.w.Write(b)
}
