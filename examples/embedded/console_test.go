package main_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// visitor is a browser of a person at a host.
type visitor struct {
	*host

	client *http.Client
}

func (h *host) visitor() *visitor {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	is.New(h.t).NoErr(err)
	return &visitor{h, &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// visit requests a page, or posts a form to it. It follows no redirect.
func (v *visitor) visit(path string, form url.Values) (status int, location, text string) {
	v.t.Helper()
	ok := is.New(v.t)
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.origin+path, strings.NewReader(form.Encode()))
	ok.NoErr(err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", v.origin)
	}
	response, err := v.client.Do(request)
	ok.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	ok.NoErr(err)
	return response.StatusCode, response.Header.Get("Location"), string(body)
}

var (
	credentials = url.Values{"email": {"ada@freedompark.example"}, "password": {"correct horse"}}
	nothing     = url.Values{}
)

// The host's user signs in to the host alone, and is known to the console.
func TestConsoleKnowsTheHostsUser(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	h := start(t, database, "APP_PASSWORD", "correct horse")
	t.Cleanup(func() { _ = h.stop() })
	ada, stranger := h.visitor(), h.visitor()

	status, _, _ := stranger.visit("/login", url.Values{"email": credentials["email"], "password": {"wrong"}})
	ok.Equal(status, http.StatusUnauthorized)
	status, _, _ = stranger.visit("/manage", nothing)
	ok.Equal(status, http.StatusUnauthorized)
	status, _, _ = stranger.visit("/business", nil)
	ok.Equal(status, http.StatusUnauthorized)

	status, _, _ = ada.visit("/login", credentials)
	ok.Equal(status, http.StatusSeeOther)
	status, company, _ := ada.visit("/manage", nothing)
	ok.Equal(status, http.StatusSeeOther)
	status, _, text := ada.visit(company, nil)
	ok.Equal(status, http.StatusOK)
	ok.True(strings.Contains(text, "<title>Overview"))
	ok.True(strings.Contains(text, "Freedom Park"))
	// There is no other way in.
	status, _, _ = ada.visit("/sign-in", nil)
	ok.Equal(status, http.StatusNotFound)
}

// The host redirects its user to a link, which begins a session of the console once.
func TestHostRedirectsToALink(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	h := start(t, filepath.Join(t.TempDir(), "shop.db"), "APP_PASSWORD", "correct horse", "APP_CONSOLE", "links")
	t.Cleanup(func() { _ = h.stop() })
	ada, stranger := h.visitor(), h.visitor()
	status, _, _ := stranger.visit("/manage", nothing)
	ok.Equal(status, http.StatusUnauthorized)
	ada.visit("/login", credentials)
	status, location, _ := ada.visit("/manage", nothing)
	ok.Equal(status, http.StatusSeeOther)
	page, token, found := strings.Cut(location, "#")
	ok.True(found)
	status, _, _ = ada.visit(page, nil) // It changes nothing.
	ok.Equal(status, http.StatusOK)
	status, company, _ := ada.visit(page, url.Values{"token": {token}})
	ok.Equal(status, http.StatusSeeOther)
	status, _, text := ada.visit(company, nil)
	ok.Equal(status, http.StatusOK)
	ok.True(strings.Contains(text, "<title>Overview"))
	status, _, _ = stranger.visit(page, url.Values{"token": {token}})
	ok.Equal(status, http.StatusUnauthorized)
}

// Without a password there is no console.
func TestNoConsoleWithoutAPassword(t *testing.T) {
	t.Parallel()
	h := start(t, filepath.Join(t.TempDir(), "shop.db"))
	t.Cleanup(func() { _ = h.stop() })
	for _, path := range []string{"/business", "/platform", "/login", "/sign-in"} {
		status, _, _ := h.visitor().visit(path, nil)
		is.New(t).Equal(status, http.StatusNotFound) // path
	}
}
