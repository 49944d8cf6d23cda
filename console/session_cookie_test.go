package console_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// agingJar keeps cookies by the clock of the site, and forgets each after its Max-Age, as browsers do.
type agingJar struct {
	now     func() time.Time
	cookies map[string]*http.Cookie
	until   map[string]time.Time
}

func newAgingJar(now func() time.Time) *agingJar {
	return &agingJar{now: now, cookies: map[string]*http.Cookie{}, until: map[string]time.Time{}}
}

func (j *agingJar) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	for _, cookie := range cookies {
		j.cookies[cookie.Name] = cookie
		j.until[cookie.Name] = j.now().Add(time.Duration(cookie.MaxAge) * time.Second)
	}
}

func (j *agingJar) Cookies(*url.URL) []*http.Cookie {
	var kept []*http.Cookie
	for name, cookie := range j.cookies {
		if j.now().Before(j.until[name]) {
			kept = append(kept, &http.Cookie{Name: name, Value: cookie.Value})
		}
	}
	return kept
}

// TestBrowserThatIsUsedStaysSignedInForTheLifeOfTheSession signs in by a link, and gets a page shortly before each idle
// time ends.
func TestBrowserThatIsUsedStaysSignedInForTheLifeOfTheSession(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		who        string
		idle, life time.Duration
	}{
		{owner, 12 * time.Hour, 7 * 24 * time.Hour},
		{chief, time.Hour, 12 * time.Hour},
	} {
		t.Run(tt.who, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			jar := newAgingJar(s.clock.now)
			signIn := func() {
				link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[tt.who], Actor: "test"})
				ok.NoErr(err)
				s.clients[tt.who] = s.newClient(t)
				s.clients[tt.who].Jar = jar
				ok.Equal(s.post(t, tt.who, "/sign-in/link", "token", link.Token).StatusCode, http.StatusSeeOther)
			}
			signIn()
			step := tt.idle - time.Minute
			for used := step; used < tt.life; used += step {
				s.clock.advance(step)
				if got := s.get(t, tt.who, "/account"); got.StatusCode != http.StatusOK {
					t.Fatalf("after %v the browser gets %d, and the session lasts %v if it is used", used, got.StatusCode, tt.life)
				}
			}
			s.clock.advance(step)
			ok.Equal(s.get(t, tt.who, "/account").StatusCode, http.StatusSeeOther) // its life is over

			signIn()
			s.clock.advance(tt.idle)
			ok.True(len(jar.Cookies(nil)) > 0)                                     // the browser still has the cookie
			ok.Equal(s.get(t, tt.who, "/account").StatusCode, http.StatusSeeOther) // the service ended the idle session
		})
	}
}
