package console

import (
	"encoding/base64"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/floatgate/ticketing"
)

// The names of the cookies, without the prefix.
const (
	sessionCookie = "ticketing"
	browserCookie = "ticketing-browser" // binds a code to the browser that asked for it
	doneCookie    = "ticketing-done"    // what the next page says
	offerCookie   = "ticketing-offer"   // the next page offers to add a passkey

	appearanceCookie = "ticketing-appearance"
)

// cookieName returns the name of a cookie. Browsers accept the prefix __Host- only over https, and then only from this
// host.
func (x *exchange) cookieName(name string) string {
	if x.isSecure(x.r) {
		return "__Host-" + name
	}
	return name
}

// setCookie adds a cookie to the response. Its life is a duration, since the clock of the browser may be wrong.
func (x *exchange) setCookie(name, value string, expires time.Time) {
	x.addCookie(name, value, max(1, int(expires.Sub(x.began).Seconds())))
}

// setSession gives the browser the secret of its session, for as long as the session can last. The service ends a
// session that is idle.
func (x *exchange) setSession(in ticketing.SignedIn) {
	x.setCookie(sessionCookie, in.Secret, in.EndsAt.Time)
}

func (x *exchange) removeCookie(name string) { x.addCookie(name, "", -1) }

func (x *exchange) addCookie(name, value string, seconds int) {
	x.cookies = append(x.cookies, &http.Cookie{ //nolint:gosec // Secure is false only on plain loopback.
		Name: x.cookieName(name), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: x.isSecure(x.r),
		SameSite: http.SameSiteLaxMode,
	})
}

// cookie returns the value of a cookie, and "" if there is none or more than one.
func (x *exchange) cookie(name string) string {
	sent := x.r.CookiesNamed(x.cookieName(name))
	if len(sent) != 1 {
		return ""
	}
	return sent[0].Value
}

// maxDone is the length of the longest text of what was done, in bytes.
const maxDone = 500

// sayDone makes the next page say what was done.
func (x *exchange) sayDone(text string) {
	if text == "" || len(text) > maxDone {
		return
	}
	x.setCookie(doneCookie, base64.RawURLEncoding.EncodeToString([]byte(text)), x.began.Add(time.Minute))
}

// takeDone returns what the page has to say, once.
func (x *exchange) takeDone() string {
	sent := x.cookie(doneCookie)
	if sent == "" {
		return ""
	}
	x.removeCookie(doneCookie)
	text, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil || len(text) > maxDone || !utf8.Valid(text) {
		return ""
	}
	return string(text)
}
