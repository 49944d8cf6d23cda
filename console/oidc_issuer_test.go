package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/console"
)

const clientID, clientSecret = "console-id", "not a secret"

// claims are those of an ID token.
type claims map[string]any

// issuer is an issuer of OpenID Connect for tests. It gives out a code for each claims that a test wants.
type issuer struct {
	*httptest.Server

	mu       sync.Mutex
	key      *ecdsa.PrivateKey
	keys     []any               // those published; none: the key
	sign     func(claims) string // makes an ID token
	codes    map[string]grant
	userInfo claims
	endpoint map[string]any // what discovery says beside the addresses
	asked    int            // how often for discovery
	away     bool
}

// grant is what a code stands for.
type grant struct {
	asked  url.Values // the query that a browser came with
	claims claims
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	ok := is.New(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok.NoErr(err)
	i := &issuer{key: key, codes: map[string]grant{}, endpoint: map[string]any{}}
	i.sign = func(c claims) string { return es256(t, i.key, c) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.asked++
		says := map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys", "userinfo_endpoint": i.URL + "/userinfo",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		}
		maps.Copy(says, i.endpoint)
		writeJSON(t, w, http.StatusOK, says)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		keys := i.keys
		if keys == nil {
			point, err := i.key.PublicKey.Bytes()
			ok.NoErr(err)
			keys = []any{map[string]string{
				"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1",
				"x": encode(point[1:33]), "y": encode(point[33:]),
			}}
		}
		writeJSON(t, w, http.StatusOK, map[string]any{"keys": keys})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		ok.Equal(r.Header.Get("Authorization"), "Bearer access")
		writeJSON(t, w, http.StatusOK, i.userInfo)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) { i.answerToken(t, w, r) })
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.away {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// answerToken changes a code for an ID token, once, for the client that asked and has the verifier of PKCE.
func (i *issuer) answerToken(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	id, secret, _ := r.BasicAuth()
	code := r.PostFormValue("code")
	given, found := i.codes[code]
	delete(i.codes, code)
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if secret, _ = url.QueryUnescape(secret); id != clientID || secret != clientSecret {
		writeJSON(t, w, http.StatusUnauthorized, map[string]string{
			"error": "invalid_client", "error_description": "owner@example.com may not",
		})
		return
	}
	if r.PostFormValue("grant_type") != "authorization_code" {
		writeJSON(t, w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	if !found || r.PostFormValue("redirect_uri") != given.asked.Get("redirect_uri") ||
		given.asked.Get("code_challenge") != encode(challenge[:]) {
		writeJSON(t, w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	writeJSON(t, w, http.StatusOK, map[string]any{
		"access_token": "access", "token_type": "Bearer", "expires_in": 299, "id_token": i.sign(given.claims),
		"scope": given.asked.Get("scope"),
	})
}

// accept checks the query of a browser as the providers do that the console was tried with: they refuse another client,
// another redirect address and another response type, and say nothing of an address that they are not asked for.
func (i *issuer) accept(t *testing.T, s *site, asked url.Values) {
	t.Helper()
	for name, want := range map[string]string{
		"client_id": clientID, "response_type": "code", "redirect_uri": s.server.URL + "/sign-in/oidc",
		"scope": "openid email", "code_challenge_method": "S256",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("the issuer refuses the %s %q", name, got)
		}
	}
	for name, values := range asked {
		if len(values) != 1 || values[0] == "" {
			t.Errorf("the issuer refuses the query: %s is %q", name, values)
		}
	}
	if len(asked.Get("code_challenge")) != 43 || asked.Get("state") == "" || asked.Get("nonce") == "" {
		t.Errorf("the issuer refuses the query: %v", asked)
	}
}

// set changes the issuer while it serves.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// issue returns a code for claims, as if the person had signed in.
func (i *issuer) issue(asked url.Values, about claims) string {
	code := rand.Text()
	i.set(func() { i.codes[code] = grant{asked, about} })
	return code
}

// use makes a console have the issuer.
func (i *issuer) use(c *console.Config) {
	c.OIDC = &console.OIDC{Issuer: i.URL, ClientID: clientID, ClientSecret: clientSecret}
}

func writeJSON(t *testing.T, w http.ResponseWriter, status int, body any) {
	t.Helper()
	text, err := json.Marshal(body)
	is.New(t).NoErr(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(text)
	is.New(t).NoErr(err)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// unsigned returns the first two parts of a token.
func unsigned(t *testing.T, alg string, c claims) string {
	t.Helper()
	text, err := json.Marshal(c)
	is.New(t).NoErr(err)
	return encode([]byte(`{"alg":"`+alg+`","kid":"1","typ":"JWT"}`)) + "." + encode(text)
}

func es256(t *testing.T, key *ecdsa.PrivateKey, c claims) string {
	t.Helper()
	text := unsigned(t, "ES256", c)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	is.New(t).NoErr(err)
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// hs256 signs with what both sides know: the client's secret.
func hs256(t *testing.T, c claims) string {
	t.Helper()
	text := unsigned(t, "HS256", c)
	mac := hmac.New(sha256.New, []byte(clientSecret))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// lead presses the button in a browser and returns the query with which it comes to the issuer.
func (s *site) lead(t *testing.T, i *issuer, who, path string) url.Values {
	t.Helper()
	ok := is.New(t)
	led := s.get(t, who, path)
	ok.Equal(led.StatusCode, http.StatusSeeOther)
	ok.True(strings.HasPrefix(led.Header.Get("Location"), i.URL+"/authorize?"))
	to, err := url.Parse(led.Header.Get("Location"))
	ok.NoErr(err)
	i.accept(t, s, to.Query())
	return to.Query()
}

// claimsOf returns the claims of a good ID token for a query and a person.
func (s *site) claimsOf(i *issuer, asked url.Values, who string) claims {
	now := s.clock.now()
	return claims{
		"iss": i.URL, "sub": "sub-" + who, "aud": []string{clientID}, "azp": clientID, "nonce": asked.Get("nonce"),
		"iat": now.Unix(), "exp": now.Unix() + 300, "auth_time": now.Unix(), "email": address(who), "email_verified": true,
	}
}

// comeBack sends a browser back from the issuer.
func (s *site) comeBack(t *testing.T, who, code, state string) page {
	t.Helper()
	return s.get(t, who, "/sign-in/oidc?"+url.Values{"code": {code}, "state": {state}}.Encode())
}
