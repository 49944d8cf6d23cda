package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

// away is a store whose database is unavailable.
type away struct{ driver.Store }

func (away) View(context.Context, func(context.Context, driver.ReadTx) error) error {
	return fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
}

func TestDatabaseAwayIsAPageOfOurs(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	svc, err := ticketing.New(away{memory.New()}, nil)
	ok.NoErr(err)
	handler, err := console.New(svc, nil)
	ok.NoErr(err)
	for path, want := range map[string]string{
		"/business": "cannot be reached right now", "/api/v2/business": `"code":"INTERNAL_ERROR"`,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		r.AddCookie(&http.Cookie{Name: "ticketing", Value: someSecret(t)})
		handler.ServeHTTP(w, r)
		ok.Equal(w.Code, http.StatusServiceUnavailable) // path
		ok.True(strings.Contains(w.Body.String(), want))
		ok.True(w.Header().Get("X-Request-Id") != "")
		ok.True(!strings.Contains(w.Body.String(), "10.0.0.1"))
		ok.Equal(w.Header().Get("Retry-After"), "1")
	}
}

// someSecret returns the secret of a session of another service.
func someSecret(t *testing.T) string {
	t.Helper()
	s := newSite(t)
	in, err := s.Accounts().SignIn(t.Context(), s.users[owner], ticketing.SignInLink, ticketing.Client{})
	is.New(t).NoErr(err)
	return in.Secret
}

func TestHostSaysWhoARequestIsFrom(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	s := newSite(t, func(c *console.Config) {
		now := c.Clock
		c.Identify = func(r *http.Request) (console.Person, error) {
			switch who := r.Header.Get("Test-User"); who {
			case "":
				return console.Person{}, console.ErrNobody
			case "broken":
				return console.Person{}, errors.New("the host's own fault")
			case "panic":
				panic("the secret of the host")
			default:
				return console.Person{Email: who, ProvedAt: now()}, nil
			}
		}
	})
	get := func(who, path string) page {
		r := s.request(t, http.MethodGet, path, nil)
		r.Header.Set("Test-User", who)
		return s.do(t, nobody, r)
	}
	ok.Equal(get("owner@example.com", "/business/{companyId}").StatusCode, http.StatusOK)
	ok.Equal(get("owner@example.com", "/business/"+s.other.String()).StatusCode, http.StatusNotFound)
	ok.True(!get("owner@example.com", "/account").has("Sign out"))
	ok.Equal(get("", "/business/{companyId}").StatusCode, http.StatusUnauthorized)
	ok.Equal(get("somebody@example.com", "/business").StatusCode, http.StatusUnauthorized)
	ok.Equal(get("broken", "/business").StatusCode, http.StatusInternalServerError)
	ok.Equal(get("panic", "/business").StatusCode, http.StatusInternalServerError)
	ok.Equal(get("", "/sign-in").StatusCode, http.StatusNotFound)
	// The cookie of a session of ours no longer works.
	ok.Equal(s.get(t, owner, "/business/{companyId}").StatusCode, http.StatusUnauthorized)
	ok.True(!strings.Contains(s.log.String(), "the secret of the host"))
	ok.True(!strings.Contains(s.log.String(), "example.com")) // nor anybody's address
}

func TestSignInPageSaysWhoMakesALinkWithoutMail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t, func(c *console.Config) { c.Mailer = nil })
	ok.True(s.get(t, nobody, "/sign-in").has("ticketing user link EMAIL"))
	ok.Equal(s.post(t, nobody, "/sign-in", "email", address(owner)).StatusCode, http.StatusConflict)
}

func TestOnRequestGetsTheRouteAndNotThePath(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	got := make(chan console.Answer, 100)
	s := newSite(t, func(c *console.Config) { c.OnRequest = func(_ context.Context, a console.Answer) { got <- a } })
	s.get(t, owner, "/business/{companyId}")
	answer := <-got
	ok.Equal(answer.Route, "/business/{companyId}")
	ok.Equal(answer.Status, http.StatusOK)
	s.get(t, owner, "/platform")
	ok.Equal((<-got).Code, ticketing.CodePermissionDenied)
}

func TestFormulaIsQuotedInADownload(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	ok.Equal(console.CSV([][]string{{"=1+1", "+1", "-1", "@a", "\tb", "\rc", "plain", "", "a=1"}}),
		"'=1+1,'+1,'-1,'@a,'\tb,\"'\rc\",plain,,a=1\n")
}

func TestPathOfOursIsNoOtherAddress(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	for _, bad := range []string{
		"", "/", "//evil", "///evil", "/\\evil", "/business\\..\\x", "https://evil/business", "/business//x", "business",
		"/business/../x", "/businessx", "/business/\x00", "/sign-in", "/%2f/evil", "/business/%5c%5cevil",
		"/business/%2e%2e/x", "javascript:alert(1)", "/business/" + strings.Repeat("a", 2000),
	} {
		ok.Equal(console.OwnPath(bad), "") // bad
	}
	for _, good := range []string{"/business", "/platform/companies?status=ACTIVE", "/account", "/business/a/b"} {
		ok.Equal(console.OwnPath(good), good)
	}
}

func TestTextOfACompanyIsNoMarkup(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const hostile = `<script>alert(1)</script>"'&` + "\u202etxt"
	_, err := s.staff.RenameCompany(t.Context(), s.company, hostile)
	if err != nil { // The service refuses the override.
		_, err = s.staff.RenameCompany(t.Context(), s.company, `<script>alert(1)</script>"'&`)
	}
	ok.NoErr(err)
	for _, path := range []string{"/business", "/business/{companyId}"} {
		got := s.get(t, owner, path)
		ok.Equal(got.StatusCode, http.StatusOK)
		ok.True(!got.has("<script>alert"))
		ok.True(got.has("&lt;script&gt;alert(1)"))
	}
}
