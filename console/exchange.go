package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
)

const (
	apiPrefix = "/api/v2"
	barPath   = "/console/bar/"
	htmlType  = "text/html; charset=utf-8"
	jsonType  = "application/json"
	csvType   = "text/csv; charset=utf-8"
)

// exchange is one request and the state of its handling.
type exchange struct {
	*console

	w       http.ResponseWriter
	r       *http.Request
	id      string
	began   time.Time
	route   *route // nil: no page or act has the path
	api     bool   // the response is JSON
	visitor *visitor
	cookies []*http.Cookie
}

// answer is the response. It is complete before a byte of it is sent, so that any failure can still be reported. Only a
// download is made while it is sent.
type answer struct {
	status      int
	code        ticketing.Code
	contentType string
	body        []byte
	location    string
	images      []string
	download    *download // sent instead of the body
	document    bool      // a document of its own, under documentPolicy
	allow       string
	stream      *stream // sent instead of the body
	retryAfter  int     // seconds
	caching     string  // the Cache-Control; empty: "no-store"
	once        bool    // holds a secret: it is not compressed
}

// step makes the response of a route that is neither a page nor an act.
type step func(context.Context, *exchange) (answer, error)

// ServeHTTP serves a request.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		console: c, w: w, r: r, id: requestID(r), began: c.config.Clock(),
		api: r.URL.Path == apiPrefix || strings.HasPrefix(r.URL.Path, apiPrefix+"/"),
	}
	c.live.draining(r) // The shutdown of the server must be seen from the start.
	a := x.answer(r.Context())
	if a.stream != nil {
		defer a.stream.close()
		a.status = http.StatusOK
		x.report(r.Context(), a) // It has begun, and lasts as long as its page is open.
		x.send(r.Context(), a)
		return
	}
	if a.download != nil {
		defer a.download.end()
	}
	if x.route == nil || !x.route.asset || a.status != 0 {
		a.status = cmp.Or(a.status, http.StatusOK)
		x.send(r.Context(), a)
	} else {
		a.status = x.sendAsset()
	}
	x.report(r.Context(), a)
}

// answer runs the request and returns its response. A panic becomes an error.
func (x *exchange) answer(ctx context.Context) (a answer) {
	var err error
	func() {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				err = &panicError{text: panicText(v), stack: string(debug.Stack())}
			}
		}()
		a, err = x.run(ctx)
	}()
	if err == nil {
		return a
	}
	// A failed request must set no cookies, except for the one of a session that was replaced before.
	x.cookies = slices.DeleteFunc(x.cookies, func(cookie *http.Cookie) bool {
		return cookie.Name != x.cookieName(sessionCookie)
	})
	return x.failure(ctx, err)
}

// find sets the route, and gives the request the variables of its path.
func (x *exchange) find() {
	f := &finder{header: http.Header{}}
	x.mux.ServeHTTP(f, x.r)
	x.route = f.route
}

// run checks host, path, method, origin and person, in this order.
func (x *exchange) run(ctx context.Context) (answer, error) {
	if !x.servesHost(x.r) {
		return answer{}, errHost
	}
	x.find()
	if x.route == nil {
		return answer{}, errNoPage
	}
	t := x.route
	x.api = x.api || t.api
	read := t.page != nil || t.get != nil || t.asset
	write := t.act != nil || t.post != nil
	switch {
	case isSafe(x.r.Method) && read:
	case x.r.Method == http.MethodPost && write:
	default:
		return answer{}, &methodError{read: read, write: write}
	}
	if err := x.checkOrigin(x.r); err != nil {
		return answer{}, err
	}
	if err := x.bufferBody(); err != nil {
		return answer{}, err
	}
	switch {
	case t.asset:
		return answer{}, nil
	case t.get != nil && isSafe(x.r.Method):
		return t.get(ctx, x)
	case t.post != nil:
		return t.post(ctx, x)
	}
	if t.act != nil {
		return x.runAct(ctx, t.act)
	}
	if t.live {
		return x.openStream(ctx, t.page)
	}
	return x.showPage(ctx, t.page)
}

// bufferBody reads the body before the session is read. Otherwise a slow body could use a session that was ended in the
// meantime. It reads one byte more than allowed, so that a body that is too large is still noticed.
func (x *exchange) bufferBody() error {
	if isSafe(x.r.Method) {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, maxBody+1))
	if err != nil {
		return invalid("body: could not be read to its end")
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// showPage responds to a GET of a page.
func (x *exchange) showPage(ctx context.Context, p *page) (answer, error) {
	c, err := x.enter(ctx, p.scope, p)
	if err != nil {
		return answer{}, err
	}
	if err := c.permit(p); err != nil {
		return answer{}, err
	}
	if err := c.readQuery(p.query); err != nil {
		return answer{}, err
	}
	shown, err := p.load(ctx, c)
	if err != nil {
		return answer{}, err
	}
	if shown.refused != nil {
		return x.refuseQuery(ctx, c, p, shown)
	}
	switch {
	case x.api:
		return encodeData(shown)
	case shown.location != "":
		return redirect(shown.location), nil
	case p.document:
		return answer{contentType: htmlType, body: []byte(shown.document), document: true}, nil
	}
	return x.render(ctx, c, p, shown, nil)
}

// refuseQuery shows a page whose query is refused: as an error to a program.
func (x *exchange) refuseQuery(ctx context.Context, c *call, p *page, shown view) (answer, error) {
	refusal := refusalOf(shown.refused)
	if x.api || refusal == nil {
		return answer{}, shown.refused
	}
	page, err := x.render(ctx, c, p, shown, nil)
	page.status, page.code = statusOf(refusal.Code), refusal.Code
	return page, err
}

// permit checks the permissions and the grants of a page.
func (c *call) permit(p *page) error {
	for _, permission := range p.permissions {
		if !holds(c.actor, permission) {
			return errMissing(permission)
		}
	}
	for _, grant := range p.grants {
		if err := c.require(grant); err != nil {
			return err
		}
	}
	return nil
}

// readQuery reads the query, and refuses members that the page does not name.
func (c *call) readQuery(names []string) error {
	sent, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return invalid("query: is malformed")
	}
	c.values = map[string]string{}
	if slices.Contains(names, "cursor") {
		names = append([]string{"limit"}, names...)
	}
	for _, name := range names {
		if len(sent[name]) > 1 {
			return invalid(name + ": must be sent once")
		}
		c.values[name] = sent.Get(name)
		delete(sent, name)
	}
	for name := range sent {
		return invalid(shortened(name) + ": is not a known query parameter")
	}
	return nil
}

// compressAt is the size from which a response is compressed, in bytes.
const compressAt = 1 << 10

// send writes the response.
func (x *exchange) send(ctx context.Context, a answer) {
	x.setPolicies(a)
	header := x.w.Header()
	for _, cookie := range x.cookies {
		http.SetCookie(x.w, cookie)
	}
	header.Set("Cache-Control", cmp.Or(a.caching, "no-store"))
	if a.location != "" {
		header.Set("Location", a.location)
	}
	if a.allow != "" {
		header.Set("Allow", a.allow)
	}
	if a.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	if a.contentType != "" {
		header.Set("Content-Type", a.contentType)
	}
	if a.stream != nil {
		x.sendStream(a.stream)
		return
	}
	if a.download != nil {
		x.sendFile(ctx, a.download)
		return
	}
	body := a.body
	if len(body) >= compressAt && !a.once {
		header.Set("Vary", "Accept-Encoding")
		if strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
			body = x.compressed(body)
			header.Set("Content-Encoding", "gzip")
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(a.status)
	_, _ = x.w.Write(body) // A browser that went away has no use for an error.
}

// compressed returns a text as gzip. Writers are reused: each has tables of 800 KB.
func (c *console) compressed(text []byte) []byte {
	w, used := c.zips.Get().(*gzip.Writer)
	if !used {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // The level is valid.
	}
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write(text) // A buffer accepts everything.
	_ = w.Close()
	c.zips.Put(w)
	return b.Bytes()
}

// report logs the request and calls OnRequest. The log has no path, which may hold what a person typed.
func (x *exchange) report(ctx context.Context, a answer) {
	sent := Answer{
		Method: knownMethod(x.r.Method), Status: a.status, Code: a.code, Duration: x.config.Clock().Sub(x.began),
	}
	if x.route != nil {
		sent.Route = x.route.pattern
	}
	attrs := []slog.Attr{
		slog.String("requestId", x.id), slog.String("method", sent.Method), slog.String("route", sent.Route),
		slog.Int("status", sent.Status), slog.Duration("duration", sent.Duration),
	}
	if sent.Code != "" {
		attrs = append(attrs, slog.String("code", string(sent.Code)))
	}
	x.config.Logger.LogAttrs(ctx, slog.LevelInfo, "console request", attrs...)
	if x.config.OnRequest != nil {
		x.config.OnRequest(ctx, sent)
	}
}

// knownMethod keeps made-up method names out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "other"
}

// redirect returns the response that leads a browser to a path of ours.
func redirect(path string) answer { return answer{status: http.StatusSeeOther, location: path} }

// ownPath returns a path of ours that was sent, and "" for anything else: another host, a scheme, or a path that a
// browser would read as one of these.
func ownPath(text string) string {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || len(text) > 2000 ||
		strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }) {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || path.Clean(parsed.Path) != parsed.Path ||
		strings.Contains(parsed.Path, "\\") {
		return ""
	}
	for _, begin := range []string{"/business", "/platform", "/account"} {
		if parsed.Path == begin || strings.HasPrefix(parsed.Path, begin+"/") {
			return parsed.RequestURI()
		}
	}
	return ""
}
