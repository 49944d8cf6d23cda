package widget_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
)

// proxyAnswer is what a proxy of a test answers.
type proxyAnswer struct {
	status      int
	header      http.Header
	body        string
	redirect    string
	cut         bool // The connection ends in the middle of the body.
	wantError   string
	wantSuccess string
}

// proxying calls an operation through the transport for the page's own proxy, and returns what it returns or rejects
// with.
const proxying = `await ServiceEmbedsV1.proxyTransport("/tickets?lang=en")("events.inventory", { eventId: "x" }).then(
	value => "value " + JSON.stringify(value),
	({ name, status, code, message, requestId, retryAfter }) =>
		JSON.stringify([name, status, code, message, requestId, retryAfter]))`

// The transport posts to a path of the page's own origin, with the cookies of the page, and keeps of a failure its
// status, code, message, request id and wait (section 4.12, "Browser transport contract").
func TestProxyTransport(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var now proxyAnswer
	var got *http.Request
	var sent string
	s := newSite(t, sitePage{served: func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = r
		text, _ := io.ReadAll(r.Body)
		sent = string(text)
		if now.redirect != "" {
			http.Redirect(w, r, now.redirect, now.status)
			return
		}
		maps.Copy(w.Header(), now.header)
		if now.cut {
			w.Header().Set("Content-Length", "1000")
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.body)
	}})
	p := s.open(t)
	p.Text(`(document.cookie = "session=abc; Secure", "")`)
	const json = "application/json"
	soon := http.Header{"Retry-After": {time.Now().Add(50 * time.Second).UTC().Format(http.TimeFormat)}}
	const (
		noJSON = `"PROXY_RESPONSE_NOT_JSON","The shop didn't answer JSON.",`
		lost   = `["ServiceError",0,"REQUEST_FAILED","The shop didn't answer.",null,null]`
		slow   = `{"error":{"code":"RATE_LIMITED","message":"Slow"}}`
	)
	page := http.Header{"X-Request-Id": {"req-3"}, "Content-Type": {"text/html"}}
	for name, test := range map[string]proxyAnswer{
		"success": {
			status: 200, body: `{"data":[],"meta":{"requestId":"a"}}`,
			wantSuccess: `{"data":[],"meta":{"requestId":"a"}}`,
		},
		"created": {status: 201, body: `{"data":{}}`, wantSuccess: `{"data":{}}`},
		"failure": {
			status: 409, body: `{"error":{"code":"CONFLICT","message":"Taken"},"meta":{"requestId":"req-1"}}`,
			wantError: `["ServiceError",409,"CONFLICT","Taken","req-1",null]`,
		},
		"wait in seconds": {
			status: 429, header: http.Header{"Retry-After": {"7"}}, body: slow,
			wantError: `["ServiceError",429,"RATE_LIMITED","Slow",null,7]`,
		},
		"wait until": {
			status: 429, header: soon, body: slow, wantError: `["ServiceError",429,"RATE_LIMITED","Slow",null,WAIT]`,
		},
		"wait malformed": {
			status: 429, header: http.Header{"Retry-After": {"soon"}}, body: slow,
			wantError: `["ServiceError",429,"RATE_LIMITED","Slow",null,null]`,
		},
		"no code": {
			status: 500, body: `{"error":{"message":"Oops"}}`,
			wantError: `["ServiceError",500,"REQUEST_FAILED","Oops",null,null]`,
		},
		"no error": {
			status: 404, header: http.Header{"X-Request-Id": {"req-2"}}, body: `{}`,
			wantError: `["ServiceError",404,"REQUEST_FAILED","","req-2",null]`,
		},
		"null": {status: 500, body: `null`, wantError: `["ServiceError",500,"REQUEST_FAILED","",null,null]`},
		"odd code": {
			status: 500, body: `{"error":{"code":"not a code","message":{}},"meta":{"requestId":"a b"}}`,
			wantError: `["ServiceError",500,"REQUEST_FAILED","",null,null]`,
		},
		"status in a body": {
			status: 503, body: `{"error":{"code":"A","message":"m","status":200,"retryAfter":1,"requestId":"x"}}`,
			wantError: `["ServiceError",503,"A","m",null,null]`,
		},
		"HTML": {
			status: 502, header: page, body: `<h1>Bad gateway</h1>`,
			wantError: `["ServiceError",502,` + noJSON + `"req-3",null]`,
		},
		"HTML of success": {
			status: 200, body: `<h1>Log in</h1>`, wantError: `["ServiceError",200,` + noJSON + `null,null]`,
		},
		"nothing":       {status: 200, wantError: `["ServiceError",200,` + noJSON + `null,null]`},
		"half of it":    {status: 200, cut: true, body: `{"data":[],`, wantError: lost},
		"redirect":      {status: 302, redirect: "/elsewhere", wantError: lost},
		"redirect away": {status: 307, redirect: s.web, wantError: lost},
	} {
		is := is.New(t)
		if test.header == nil {
			test.header = http.Header{"Content-Type": {json}}
		}
		mu.Lock()
		now = test
		mu.Unlock()
		value := p.Text(proxying)
		want := test.wantError
		if test.wantSuccess != "" {
			want = "value " + test.wantSuccess
		}
		if before, after, found := strings.Cut(want, "WAIT"); found {
			var seconds int
			_, err := fmt.Sscanf(strings.TrimPrefix(value, before), "%d", &seconds)
			is.NoErr(err)
			is.True(seconds > 20 && seconds <= 51)
			is.True(strings.HasSuffix(value, after))
		} else if value != want {
			t.Errorf("%s: %s, not %s", name, value, want)
		}
		mu.Lock()
		is.Equal(got.URL.RequestURI(), "/tickets?lang=en")
		is.Equal(got.Header.Get("Content-Type"), json)
		is.Equal(got.Header.Get("Cookie"), "session=abc")
		is.Equal(got.Header.Get("Authorization"), "")
		is.Equal(sent, `{"operation":"events.inventory","payload":{"eventId":"x"}}`)
		mu.Unlock()
	}
}

// An answer that does not come within 30 seconds is a lost connection.
func TestProxyTimeout(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{served: func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // After that the server sees that the client has gone.
		<-r.Context().Done()
	}}).open(t)
	p.Text(`(window.control = new AbortController(),
		AbortSignal.timeout = patience => (window.patience = patience, control.signal), "")`)
	p.Text(`(window.done = (async () => ` + proxying + `)(), "")`)
	p.Wait(`window.patience`)
	is.Equal(p.Text(`patience`), "30000")
	p.Text(`(control.abort(new DOMException("late", "TimeoutError")), "")`)
	is.Equal(p.Text(`await done`), `["ServiceError",0,"REQUEST_FAILED","The shop didn't answer.",null,null]`)
}

// The path is one of the page's own origin, and holds no credential.
func TestProxyPath(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	const wrong = "ServiceEmbedsV1: path must be a path of this origin"
	for path, want := range map[string]string{
		`"/tickets"`: "", `"/"`: "", `"/index.php?route=tickets"`: "", `"/a/../b"`: "",
		`""`: wrong, `"tickets"`: wrong, `"./tickets"`: wrong, `"//evil.example/"`: wrong, `"/\\evil.example/"`: wrong,
		`"/a\\b"`: wrong, `"/\t/evil.example/"`: wrong, `"https://evil.example/"`: wrong, `location.origin + "/a"`: wrong,
		`"/a#b"`: wrong, `"/a b"`: wrong, `undefined`: wrong, `null`: wrong, `7`: wrong, `["/a"]`: wrong,
		`new URL(location.origin)`: wrong, `"javascript:alert(1)"`: wrong, `"/a?key=svc_live.hunter2.x"`: wrong,
	} {
		is.Equal(p.Text(`(() => { try { return typeof ServiceEmbedsV1.proxyTransport(`+path+`) } catch (error) {
			return error.message } })()`), map[bool]string{true: "function", false: want}[want == ""])
	}
}

// The policies of a host are enough for the widget: it breaks none, with the theme set by script or by a style with the
// nonce of the policy.
func TestPolicies(t *testing.T) {
	t.Parallel()
	const policy = "default-src 'none'; script-src WEB; connect-src 'self'; img-src https: data:; base-uri 'none'; " +
		"form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "
	for name, test := range map[string]struct{ styles, options, color string }{
		"CSSOM":                {"style-src WEB", ``, "#123456"},
		"nonce":                {"style-src WEB 'nonce-abc'", `styleNonce: "abc",`, "#123456"},
		"nonce alone":          {"style-src 'nonce-abc'", `styleNonce: "abc",`, "#123456"},
		"nonce of another one": {"style-src WEB 'nonce-xyz'", `styleNonce: "abc",`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := newSite(t, sitePage{policy: policy + test.styles})
			p := s.open(t)
			p.Text(`(ServiceEmbedsV1.mount({ target: "#tickets", ` + test.options + ` brand: { primaryColor: "#123456" },
				transport: async () => (` + eventsOf + `) }),
				window.host = document.querySelector("#tickets").firstElementChild, "")`)
			p.Wait(`getComputedStyle(host).display !== "none" && host.shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
			is.Equal(p.Text(`getComputedStyle(host).getPropertyValue("--brand-primary")`), test.color)
			is.Equal(p.Text(`host.shadowRoot.querySelector("link").sheet !== null`), "true")
			broken := p.PolicyViolations()
			if test.color != "" && (len(broken) > 0 || s.reported() != "") {
				t.Errorf("the policy was broken: %v %s", broken, s.reported())
			}
			if test.color == "" && len(broken) == 0 {
				t.Error("the policy is not enforced")
			}
		})
	}
}

// What the widget keeps in the session outlives a reload. Where the browser blocks storage, it works all the same.
func TestStorage(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	is.Equal(p.Text(`(() => {
		for (const name of ["getItem", "setItem", "removeItem"]) {
			Storage.prototype[name] = () => { throw new DOMException("blocked", "SecurityError") }
		}
		Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("blocked", "SecurityError") } })
		ServiceEmbedsV1.mount({ target: "#tickets", transport: async () => (`+eventsOf+`) })
		return "mounted"
	})()`), "mounted")
	p.Wait(`document.querySelector("#tickets").firstElementChild.shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
}
