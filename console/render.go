package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

//go:embed templates/*.html
var templateFiles embed.FS

// shared are the templates that every page has.
const shared = "templates/layout.html"

// parseTemplates parses each page with the shared templates, by the name of its file. The clock says how long ago
// something was.
func parseTemplates(clock func() time.Time) (map[string]*template.Template, error) {
	base, err := template.New("layout.html").Funcs(functions(clock)).ParseFS(templateFiles,
		shared, "templates/parts.html", "templates/icons.html", "templates/platform.html",
		"templates/passkey-offer.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, name := range names {
		one, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if all[path.Base(name)], err = one.ParseFS(templateFiles, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// render returns a page as HTML. The outcome of an act that was posted to it may be nil.
func (x *exchange) render(ctx context.Context, c *call, p *page, shown view, after *refused) (answer, error) {
	f := &frame{
		call: c, Title: p.title, Email: x.visitor.email, Data: shown.data, RequestID: x.id, refused: after,
		Here: x.r.URL.Path, Next: shown.next, Sessions: x.config.Identify == nil, Self: p.scope == scopeSelf,
		OnPlatform: p.scope == scopePlatform,
	}
	if after != nil {
		f.Here = c.expand(p.path)
	}
	if shown.title != "" {
		f.Title = shown.title
	}
	if shown.accent == "" && p.scope == scopeCompany {
		color, err := c.accent(ctx)
		if err != nil {
			return answer{}, err
		}
		shown.accent = color
	}
	if isReadable(shown.accent) {
		f.Accent = strings.TrimPrefix(strings.ToLower(shown.accent), "#")
	}
	name := p.template
	if after == nil {
		f.Done, f.Offer = x.takeDone(), x.takeOffer() && p.path != accountPath
		if f.Offer {
			var err error
			if f.Mails, err = x.canMail(ctx); err != nil {
				return answer{}, err
			}
		}
	} else {
		name, f.Refusal = cmp.Or(after.template, p.template), after.refusal
	}
	f.Nav = c.navigation(p)
	f.nameCompany()
	f.IsStaff = p.scope != scopeSelf && c.actor.CompanyID == uuid.Nil || x.isStaff(ctx)
	text, err := x.execute(name, f)
	return answer{status: http.StatusOK, contentType: htmlType, body: text, images: shown.images}, err
}

// execute runs a template whole, so that an error of it never leaves half a page.
func (c *console) execute(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := c.templates[name].ExecuteTemplate(&b, "layout.html", data)
	return b.Bytes(), err
}

// renderFailure returns the page of an error. It needs no database.
func (x *exchange) renderFailure(status int, shown *ticketing.Error) []byte {
	title := titleOf(status)
	if status == http.StatusBadRequest && !isSafe(x.r.Method) {
		title = "This was not accepted"
	}
	f := &frame{Title: title, RequestID: x.id, Refusal: shown, Plain: true, Here: x.r.URL.Path}
	text, err := x.execute("failure.html", f)
	if err != nil {
		panic(err) // The page of an error is tested with every status.
	}
	return text
}

func titleOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusMethodNotAllowed:
		return "Not possible here"
	case http.StatusServiceUnavailable:
		return "Back in a moment"
	case http.StatusTooManyRequests:
		return "Too many tries"
	case http.StatusUnauthorized:
		return "Sign in"
	case http.StatusBadRequest:
		return "This address is malformed"
	case http.StatusConflict:
		return "Not possible now"
	}
	return "Something went wrong"
}
