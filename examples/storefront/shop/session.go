package shop

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/floatgate/ticketing/embedproxy"
)

// sessions makes and finds sessions. A session is a random id in a cookie, signed so that nobody can choose one, and
// needs no memory of the shop. A shop with accounts has the session of its login here.
type sessions struct {
	key    []byte
	secure bool
}

func newSessions(key []byte, secure bool) sessions {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // It never fails.
	}
	return sessions{key, secure}
}

// cookie returns the name of the cookie. Over HTTPS a browser binds the name to this host alone.
func (s sessions) cookie() string {
	if s.secure {
		return "__Host-shop"
	}
	return "shop"
}

// begin gives a browser a session, if it has none.
func (s sessions) begin(w http.ResponseWriter, r *http.Request) {
	if _, err := s.find(r); err == nil {
		return
	}
	id := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is what the shop speaks: a demonstration may be plain HTTP.
		Name: s.cookie(), Value: id + "." + s.sign(id), Path: "/", HttpOnly: true, Secure: s.secure,
		SameSite: http.SameSiteLaxMode,
	})
}

// find returns the id of a request's session.
func (s sessions) find(r *http.Request) (string, error) {
	cookie, err := r.Cookie(s.cookie())
	if err != nil {
		return "", embedproxy.ErrNoSession
	}
	id, signature, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(signature), []byte(s.sign(id))) {
		return "", embedproxy.ErrNoSession
	}
	return id, nil
}

func (s sessions) sign(id string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("session " + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
