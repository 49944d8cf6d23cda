package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/store/memory"
)

// The people of a test's site. Each has the address NAME@example.com.
const (
	nobody        = ""
	owner         = "owner" // of the company
	administrator = "administrator"
	viewer        = "viewer"
	stranger      = "stranger" // the owner of another company
	chief         = "chief"    // staff, ADMINISTRATOR
	finance       = "finance"
	onboarding    = "onboarding"
	support       = "support"
	auditor       = "auditor"
)

// site is a console over HTTP, on a service in memory with two companies and a person of each role.
type site struct {
	*ticketing.Service

	store   driver.Store
	server  *httptest.Server
	handler http.Handler
	staff   ticketing.Operator // of the test itself
	company uuid.UUID
	other   uuid.UUID // the company of the stranger
	clock   *clock
	mails   chan ticketing.Mail
	log     *lockedText
	users   map[string]uuid.UUID
	clients map[string]*http.Client
}

// opening is the time at which the clock of a site starts.
var opening = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newSite returns a site whose people have just signed in.
func newSite(t *testing.T, change ...func(*console.Config)) *site {
	t.Helper()
	ok := is.New(t)
	s := &site{
		clock: &clock{at: opening}, log: new(lockedText), mails: make(chan ticketing.Mail, 100),
		users: map[string]uuid.UUID{}, clients: map[string]*http.Client{},
	}
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	s.store = memory.New()
	svc, err := ticketing.New(s.store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: s.clock.now, Logger: logger,
		MailRenderer: mail.NewRenderer(),
	})
	ok.NoErr(err)
	s.Service, s.staff = svc, svc.As(ticketing.Staff("test"))
	s.company, s.other = s.newCompany(t, "Adire Concerts"), s.newCompany(t, "Oja Nights")
	for name, role := range map[string]ticketing.Role{
		owner: ticketing.RoleOwner, administrator: ticketing.RoleAdministrator, viewer: ticketing.RoleViewer,
	} {
		s.addMember(t, s.company, name, role)
	}
	s.addMember(t, s.other, stranger, ticketing.RoleOwner)
	// The first one is the administrator.
	for _, one := range []struct {
		name string
		role ticketing.StaffRole
	}{
		{chief, ticketing.StaffAdministrator},
		{finance, ticketing.StaffFinance},
		{onboarding, ticketing.StaffOnboarding},
		{support, ticketing.StaffSupport},
		{auditor, ticketing.StaffAuditor},
	} {
		member, err := s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: address(one.name), Name: one.name, Role: one.role,
		})
		ok.NoErr(err)
		s.users[one.name] = member.UserID
	}
	sender := ticketing.MailSenderParams{Address: "tickets@example.com", Name: "Tickets"}
	_, err = s.staff.SetMailSender(t.Context(), sender)
	ok.NoErr(err)

	config := console.Config{Mailer: mailbox(s.mails), Logger: logger, Clock: s.clock.now}
	for _, one := range change {
		one(&config)
	}
	s.handler, err = console.New(svc, &config)
	ok.NoErr(err)
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(s.server.Close)
	s.clients[nobody] = s.newClient(t)
	for name := range s.users {
		s.clients[name] = s.newClient(t)
		s.signIn(t, name)
	}
	return s
}

func address(name string) string { return name + "@example.com" }

func (s *site) newCompany(t *testing.T, name string) uuid.UUID {
	t.Helper()
	company, err := s.staff.CreateCompany(t.Context(), name)
	is.New(t).NoErr(err)
	return company.ID
}

func (s *site) addMember(t *testing.T, company uuid.UUID, name string, role ticketing.Role) {
	t.Helper()
	member, err := s.staff.AddMember(t.Context(), company, ticketing.AddMemberParams{
		Email: address(name), Name: name, Role: role,
	})
	is.New(t).NoErr(err)
	s.users[name] = member.UserID
}

// newClient returns a browser without a session that follows no redirects.
func (s *site) newClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	is.New(t).NoErr(err)
	return &http.Client{
		Jar: jar, Transport: s.server.Client().Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// signIn gives a person's browser a session of a passkey, which is recent.
func (s *site) signIn(t *testing.T, name string) {
	t.Helper()
	in, err := s.Accounts().SignIn(t.Context(), s.users[name], ticketing.SignInPasskey, ticketing.Client{Browser: "test"})
	is.New(t).NoErr(err)
	s.clients[name].Jar.SetCookies(s.address(t), []*http.Cookie{{Name: "ticketing", Value: in.Secret, Path: "/"}})
}

func (s *site) address(t *testing.T) *url.URL {
	t.Helper()
	parsed, err := url.Parse(s.server.URL)
	is.New(t).NoErr(err)
	return parsed
}

// page is a response with its body.
type page struct {
	*http.Response

	text string
}

// has reports whether the page has a text, as HTML.
func (p page) has(text string) bool { return strings.Contains(p.text, text) }

// data decodes the data of a JSON response.
func (p page) data(t *testing.T, into any) {
	t.Helper()
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	ok := is.New(t)
	ok.NoErr(json.Unmarshal([]byte(p.text), &body))
	ok.NoErr(json.Unmarshal(body.Data, into))
}

// code returns the code of a refusal in JSON.
func (p page) code(t *testing.T) string {
	t.Helper()
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	is.New(t).NoErr(json.Unmarshal([]byte(p.text), &body))
	return body.Error.Code
}

// do sends a request as a person.
func (s *site) do(t *testing.T, who string, r *http.Request) page {
	t.Helper()
	ok := is.New(t)
	client := s.clients[who]
	if client == nil {
		t.Fatalf("the site has nobody called %q", who)
	}
	response, err := client.Do(r)
	ok.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	ok.NoErr(err)
	return page{response, string(text)}
}

// request returns a request for a path, in which {companyId} stands for the company.
func (s *site) request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	path = strings.ReplaceAll(path, "{companyId}", s.company.String())
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.server.URL+path, body)
	is.New(t).NoErr(err)
	return r
}

// get gets a page as a person.
func (s *site) get(t *testing.T, who, path string) page {
	t.Helper()
	return s.do(t, who, s.request(t, http.MethodGet, path, nil))
}

// post posts a form, as a browser does from a page of the site. The fields are pairs of name and value.
func (s *site) post(t *testing.T, who, path string, fields ...string) page {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := s.request(t, http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.server.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.do(t, who, r)
}

// postJSON posts a JSON object to a path under /api/v2.
func (s *site) postJSON(t *testing.T, who, path, body string) page {
	t.Helper()
	r := s.request(t, http.MethodPost, "/api/v2"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Origin", s.server.URL)
	return s.do(t, who, r)
}

// follow follows the redirect of a response.
func (s *site) follow(t *testing.T, who string, p page) page {
	t.Helper()
	to := p.Header.Get("Location")
	if p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/") {
		t.Fatalf("no redirect to a path: %d %q\n%s", p.StatusCode, to, p.text)
	}
	return s.get(t, who, to)
}

// mailbox is a mailer that keeps mails.
type mailbox chan ticketing.Mail

func (m mailbox) Mail(_ context.Context, mail ticketing.Mail) error {
	m <- mail
	return nil
}

// mail returns the next mail.
func (s *site) mail(t *testing.T) ticketing.Mail {
	t.Helper()
	select {
	case mail := <-s.mails:
		return mail
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came")
		return ticketing.Mail{}
	}
}
