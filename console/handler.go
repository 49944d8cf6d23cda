package console

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/clientaddr"
	"github.com/floatgate/ticketing/internal/ratewindow"
	"github.com/floatgate/ticketing/internal/webpage"
)

// console is the handler.
type console struct {
	svc        *ticketing.Service
	accounts   ticketing.Accounts
	config     Config
	origin     *url.URL // of Config.WebOrigin; nil: localhost
	mux        *http.ServeMux
	protection *http.CrossOriginProtection
	issuer     *issuer // of OpenID Connect; nil: none
	proxies    *clientaddr.Proxies
	acts       map[string]*act  // by name
	pages      map[string]*page // by path
	nav        []*page          // those of the navigation, in its order
	keys       map[*page]string // the letters of those
	templates  *templates
	codes      ratewindow.Limit // of the codes that an address is sent
	tries      ratewindow.Limit // of the attempts of a client to sign in
	used       ratewindow.Limit // of the challenges of passkeys that were used
	invites    ratewindow.Limit // of the invitations that a company mails
	invited    ratewindow.Limit // of those that an address gets
	mails      chan struct{}
	books      bookVerifier
	live       *live
	downloads  *downloads
	zips       sync.Pool // of *gzip.Writer
}

// The limits of the sign-in page.
const (
	codesPerWindow = 5 // for an address
	codeWindow     = 15 * time.Minute
	triesPerWindow = 20 // of a client
	tryWindow      = time.Hour
	mailsAtOnce    = 16
)

// newLimit returns a limit for each key, counted in this process.
func newLimit(requests int, window time.Duration) ratewindow.Limit {
	return ratewindow.Limit{Counter: ratewindow.NewMemory(window), Requests: requests}
}

// New returns the console of a service. It starts nothing. It fails if the web origin is not an origin, or is one of
// plain HTTP that is not on loopback: over plain HTTP anybody on the network could steal a session.
func New(svc *ticketing.Service, config *Config) (http.Handler, error) {
	if svc == nil {
		return nil, errors.New("console: a console needs a service")
	}
	c := &console{
		svc: svc, accounts: svc.Accounts(), mux: http.NewServeMux(), protection: http.NewCrossOriginProtection(),
		codes: newLimit(codesPerWindow, codeWindow), tries: newLimit(triesPerWindow, tryWindow),
		used:    newLimit(1, usedWindow),
		invites: newLimit(invitesPerCompany, inviteWindow), invited: newLimit(invitesPerAddress, inviteWindow),
		mails: make(chan struct{}, mailsAtOnce), acts: map[string]*act{}, pages: map[string]*page{},
	}
	if config != nil {
		c.config = *config
	}
	var err error
	if c.config.Clock == nil {
		c.config.Clock = time.Now
	}
	if c.config.Logger == nil {
		c.config.Logger = slog.New(slog.DiscardHandler)
	}
	if c.issuer, err = newIssuer(&c.config); err != nil {
		return nil, err
	}
	if c.config.Title, err = webpage.ParseTitle(c.config.Title); err != nil {
		return nil, fmt.Errorf("console: Config.Title %w", err)
	}
	c.proxies = clientaddr.New(c.config.TrustedProxies, c.config.Logger)
	if c.origin, err = parseOrigin(c.config.WebOrigin); err != nil {
		return nil, err
	}
	if c.templates, err = newTemplates(c.config.Clock, c.config.Title); err != nil {
		return nil, fmt.Errorf("console: templates: %w", err)
	}
	c.live, c.downloads = newLive(svc, c.config.Logger), newDownloads()
	if err := c.register(); err != nil {
		return nil, err
	}
	return c, nil
}

// route is what a pattern of the mux selects.
type route struct {
	pattern string
	page    *page
	act     *act
	get     step // of neither a page nor an act, such as sign-in
	post    step
	asset   bool
	api     bool
	live    bool // it is the stream of the page
}

// finder is the writer that the mux gets: the route sets itself in it, and what the mux itself writes is dropped.
type finder struct {
	route  *route
	header http.Header
}

func (f *finder) Header() http.Header         { return f.header }
func (f *finder) Write(b []byte) (int, error) { return len(b), nil }
func (f *finder) WriteHeader(int)             {}

// ServeHTTP sets the route for the exchange. The request then has the path's variables.
func (t *route) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.(*finder).route = t //nolint:forcetypeassert // Only exchange.find serves by the mux.
}

// register adds the routes of pages, acts, sign-in and assets, each page and act also under /api/v2.
func (c *console) register() error {
	add := func(t *route) { c.mux.Handle(t.pattern, t) }
	all := pages()
	for i := range all {
		p := &all[i]
		if !p.document && !c.templates.has(p.template) {
			return fmt.Errorf("console: the page %s has no template %q", p.path, p.template)
		}
		c.pages[p.path] = p
		if p.nav != "" {
			c.nav = append(c.nav, p)
		}
		add(&route{pattern: p.path, page: p})
		add(&route{pattern: apiPrefix + p.path, page: p, api: true})
		if len(p.live) > 0 {
			// Refusals are JSON: a stream cannot be redirected to the sign-in page.
			add(&route{pattern: p.path + streamPath, page: p, api: true, live: true})
		}
	}
	c.keys = keysOf(c.nav)
	done := acts()
	for i := range done {
		a := &done[i]
		if c.pages[a.page] == nil || c.acts[a.name] != nil {
			return fmt.Errorf("console: the act %s has no page, or is there twice", a.name)
		}
		if a.permission == "" && a.grant == "" && a.scope != scopeSelf {
			return fmt.Errorf("console: the act %s needs neither a permission nor a grant", a.name)
		}
		c.acts[a.name] = a
		add(&route{pattern: a.path, act: a})
		add(&route{pattern: apiPrefix + a.path, act: a, api: true})
	}
	for _, t := range c.signInRoutes() {
		add(t)
	}
	for path := range assets() {
		add(&route{pattern: path, asset: true})
	}
	add(&route{pattern: barPath + "{color}", get: barStep})
	add(&route{pattern: lookPath + "{colors}", get: lookStep})
	return nil
}

// parseOrigin parses the web origin; an empty one is nil.
func parseOrigin(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // No origin is one of the two choices.
	}
	origin, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || origin.Host == "" || origin.Path != "" || origin.RawQuery != "" || origin.Fragment != "" ||
		origin.User != nil || origin.Scheme != "https" && origin.Scheme != "http" {
		return nil, errors.New("console: Config.WebOrigin must be a scheme and a host, such as https://tickets.example.com")
	}
	origin.Host = withoutDefaultPort(origin.Scheme, strings.ToLower(origin.Host))
	if origin.Scheme == "http" && !isLoopback(origin.Hostname()) {
		return nil, ErrPlainHTTP
	}
	return origin, nil
}

// ErrPlainHTTP is returned by [New] for a web origin of plain HTTP that is not on loopback.
var ErrPlainHTTP = errors.New("console: over plain HTTP the console is served on localhost alone; " +
	"use a web origin with https")

// requestID returns the client's id if it is sent once and well-formed, else a new one.
func requestID(r *http.Request) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && isRequestID(sent[0]) {
		return sent[0]
	}
	return uuid.NewString()
}

// originOf returns the origin that the console has for a request.
func (c *console) originOf(r *http.Request) string {
	if c.origin != nil {
		return c.origin.Scheme + "://" + c.origin.Host
	}
	return cmp.Or(schemeOf(r), "http") + "://" + strings.ToLower(r.Host)
}
