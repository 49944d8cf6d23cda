package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template/parse"
	"time"

	"github.com/floatgate/ticketing"
)

//go:embed templates/*.html
var templateFiles embed.FS

// shared are the templates that every page has.
const shared = "templates/layout.html"

// parsedTemplates holds the result of parseTemplates. The consoles of a process share it, since parsing takes most of
// the time of making one. These templates are never executed: each console has clones with its own clock and title.
var parsedTemplates = sync.OnceValues(parseTemplates)

// parseTemplates parses each page with the shared templates, by the name of its file.
func parseTemplates() (map[string]*template.Template, error) {
	base, err := template.New("layout.html").Funcs(functions(time.Now, "")).ParseFS(templateFiles,
		shared, "templates/parts.html", "templates/chart.html", "templates/platform.html", "templates/passkey-offer.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, name := range names {
		one, err := withTrees(base.Templates()).ParseFS(templateFiles, name)
		if err != nil {
			return nil, err
		}
		// A clone of a page copies its trees. So a page has only those that it uses.
		used := map[string]*template.Template{}
		collectUsed(one, path.Base(shared), used)
		all[path.Base(name)] = withTrees(slices.Collect(maps.Values(used)))
	}
	return all, nil
}

// withTrees returns a page of the trees of templates, which it shares with them.
func withTrees(templates []*template.Template) *template.Template {
	page := template.New(path.Base(shared)).Funcs(functions(time.Now, ""))
	for _, one := range templates {
		if one.Tree != nil {
			// It fails only for a page that was executed.
			template.Must(page.AddParseTree(one.Name(), one.Tree))
		}
	}
	return page
}

// collectUsed adds the template of a name, and all templates that it uses.
func collectUsed(page *template.Template, name string, used map[string]*template.Template) {
	one := page.Lookup(name)
	if one == nil || one.Tree == nil || used[name] != nil {
		return
	}
	used[name] = one
	for _, called := range calledTemplates(one.Tree.Root) {
		collectUsed(page, called, used)
	}
}

// calledTemplates returns the names of the templates that a part of a template uses.
func calledTemplates(node parse.Node) []string {
	var names []string
	branch := func(b *parse.BranchNode) {
		names = append(names, calledTemplates(b.List)...)
		if b.ElseList != nil {
			names = append(names, calledTemplates(b.ElseList)...)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, one := range node.Nodes {
			names = append(names, calledTemplates(one)...)
		}
	case *parse.IfNode:
		branch(&node.BranchNode)
	case *parse.RangeNode:
		branch(&node.BranchNode)
	case *parse.WithNode:
		branch(&node.BranchNode)
	case *parse.TemplateNode:
		names = append(names, node.Name)
	}
	return names
}

// templates are the templates of one console. It is safe for concurrent use.
type templates struct {
	all   map[string]*template.Template
	clock func() time.Time // says how long ago something was
	title string           // of the service

	mu    sync.Mutex
	bound map[string]*template.Template
}

func newTemplates(clock func() time.Time, title string) (*templates, error) {
	all, err := parsedTemplates()
	return &templates{all: all, clock: clock, title: title, bound: map[string]*template.Template{}}, err
}

// has reports whether there is a template of a file.
func (t *templates) has(name string) bool { return t.all[name] != nil }

// get returns the template of a file. A template is bound to the clock on its first use.
func (t *templates) get(name string) (*template.Template, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.bound[name]; one != nil {
		return one, nil
	}
	one, err := t.all[name].Clone()
	if err != nil {
		return nil, err
	}
	t.bound[name] = one.Funcs(functions(t.clock, t.title))
	return t.bound[name], nil
}

// render returns a page as HTML. The outcome of an act that was posted to it may be nil.
func (x *exchange) render(ctx context.Context, c *call, p *page, shown view, after *refused) (answer, error) {
	f := &frame{
		call: c, Title: p.title, Email: x.visitor.email, Data: shown.data, RequestID: x.id, refused: after,
		Here: x.r.URL.Path, Next: shown.next, Sessions: x.config.Identify == nil, Self: p.scope == scopeSelf,
		OnPlatform: p.scope == scopePlatform, Chosen: x.appearance(),
	}
	if after == nil && !shown.still {
		f.Live = c.streamOf(p)
	}
	if after != nil {
		f.Here = c.expand(p.path)
	}
	if shown.title != "" {
		f.Title = shown.title
	}
	f.IsStaff = c.visitor.isStaff()
	if accent := cmp.Or(shown.accent, c.accent()); isReadable(accent) {
		f.Accent = strings.TrimPrefix(strings.ToLower(accent), "#")
	}
	name := p.template
	switch {
	case after != nil:
		name, f.Refusal = cmp.Or(after.template, p.template), after.refusal
	case !x.refreshes(): // What was done is for the page that the browser asks for, perhaps at the same moment.
		f.Done, f.Offer = x.takeDone(), x.takeOffer() && p.path != accountPath
		if f.Offer {
			var err error
			if f.OtherWays, err = x.canMail(ctx); err != nil {
				return answer{}, err
			}
			f.OtherWays = f.OtherWays || x.issuerName() != ""
		}
	}
	f.Nav = c.navigation(p)
	f.nameCompany()
	text, err := x.execute(name, f)
	return answer{status: http.StatusOK, contentType: htmlType, body: text, images: shown.images}, err
}

// execute executes a template into memory, so that an error never leaves half a page.
func (c *console) execute(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	one, err := c.templates.get(name)
	if err == nil {
		err = one.ExecuteTemplate(&b, "layout.html", data)
	}
	return b.Bytes(), err
}

// renderFailure returns the page of an error. It needs no database.
func (x *exchange) renderFailure(status int, shown *ticketing.Error) []byte {
	title := titleOf(status)
	if status == http.StatusBadRequest && !isSafe(x.r.Method) {
		title = "This form was not accepted"
	}
	f := &frame{
		Title: title, RequestID: x.id, Refusal: shown, Plain: true, Here: x.r.URL.Path, Chosen: x.appearance(),
	}
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
		return "Too many requests"
	case http.StatusUnauthorized:
		return "Sign in"
	case http.StatusBadRequest:
		return "This address is not valid"
	case http.StatusConflict:
		return "Not possible right now"
	}
	return "Something went wrong"
}
