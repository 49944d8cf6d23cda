package console_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/store/memory"
)

func TestWebOriginIsHTTPSOrLoopback(t *testing.T) {
	t.Parallel()
	svc, err := ticketing.New(memory.New(), nil)
	is.New(t).NoErr(err)
	for _, tt := range []struct {
		origin string
		ok     bool
		plain  bool
	}{
		{origin: "", ok: true},
		{origin: "https://tickets.example.com", ok: true},
		{origin: "https://tickets.example.com/", ok: true},
		{origin: "http://localhost:8080", ok: true},
		{origin: "http://127.0.0.1", ok: true},
		{origin: "http://[::1]:8080", ok: true},
		{origin: "http://tickets.example.com", plain: true},
		{origin: "http://10.0.0.1", plain: true},
		{origin: "tickets.example.com"},
		{origin: "https://"},
		{origin: "https://a@tickets.example.com"},
		{origin: "https://tickets.example.com/console"},
		{origin: "ftp://tickets.example.com"},
	} {
		t.Run(tt.origin, func(t *testing.T) {
			t.Parallel()
			_, err := console.New(svc, &console.Config{WebOrigin: tt.origin})
			is.New(t).Equal(err == nil, tt.ok)
			is.New(t).Equal(errors.Is(err, console.ErrPlainHTTP), tt.plain)
		})
	}
}

func TestCookieOfHTTPSIsOfThisHostAlone(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	s := newSite(t, func(c *console.Config) { c.WebOrigin = "https://Tickets.example.com:443" })
	link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[owner], Actor: "test"})
	ok.NoErr(err)
	open := func(host, origin string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/sign-in/link", strings.NewReader("token="+link.Token))
		r.Host = host
		r.Header.Set("Origin", origin)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.handler.ServeHTTP(w, r)
		return w
	}
	ok.Equal(open("localhost", "https://tickets.example.com").Code, http.StatusMisdirectedRequest)
	ok.Equal(open("tickets.example.com", "http://tickets.example.com").Code, http.StatusForbidden)
	in := open("tickets.example.com", "https://tickets.example.com")
	ok.Equal(in.Code, http.StatusSeeOther)
	cookie := in.Result().Cookies()[0]
	ok.Equal(cookie.Name, "__Host-ticketing")
	ok.True(cookie.Secure && cookie.HttpOnly && cookie.SameSite == http.SameSiteLaxMode && cookie.Domain == "")
	ok.Equal(cookie.Path, "/")
	ok.Equal(in.Header().Get("Strict-Transport-Security"), "max-age=63072000")
}

// TestLocalhostOverHTTPSIsNotPinned checks that a developer's localhost gets no Strict-Transport-Security: the header
// would bind every other server of that machine.
func TestLocalhostOverHTTPSIsNotPinned(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://localhost:8443": "", "https://127.0.0.1:8443": "", "https://[::1]:8443": "",
		"https://tickets.example.com": "max-age=63072000",
	} {
		s := newSite(t, func(c *console.Config) { c.WebOrigin = origin })
		for _, path := range []string{"/sign-in", "/account", "/console/console.css", "/api/v2/account"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			_, r.Host, _ = strings.Cut(origin, "://")
			s.handler.ServeHTTP(w, r)
			is.New(t).True(w.Code != http.StatusMisdirectedRequest)            // origin, path
			is.New(t).Equal(w.Header().Get("Strict-Transport-Security"), want) // origin, path
		}
	}
}
