package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// screen is the size of a browser's window, and the prefix of the API there.
type screen struct {
	name   string
	size   browsertest.Size
	prefix string
}

func screens() []screen {
	return []screen{{"desktop", browsertest.Desktop, httpapi.DefaultPrefix}, {"phone", browsertest.Phone, "/"}}
}

// A user with a keyboard, or a phone, reads the reference, finds a call in it, and takes a sample in a language with an
// address and a key. The page sends no request to another host, does not violate its policy, and stores nothing.
func TestBrowserReference(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	for _, screen := range screens() {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, &httpapi.Config{Prefix: screen.prefix, RateLimit: -1})
			base := d.server.URL + strings.TrimSuffix(screen.prefix, "/")
			p := browser.Open(t, base+"/docs", screen.size)
			is.Equal(p.Text(`document.documentElement.lang`), "en")
			is.Equal(p.Text(`document.title`), "API reference · Ticketing")
			is.True(p.Transferred() <= 80_000)
			p.Fits()
			p.Readable(screen.name + "-reference")
			accessible(t, p)
			is.Equal(p.Text(`[...document.links].filter(a => !a.href.startsWith(location.origin)).map(a => a.href).join()`),
				"https://pkg.go.dev/github.com/floatgate/ticketing/client")
			// Each place in the contents is there, and has the name by which the contents have it.
			is.Equal(p.Text(`[...document.querySelectorAll(".contents li a")].filter(a =>
				!a.innerText.trim().startsWith(document.querySelector(a.hash + " :is(h2, h3)")?.innerText ?? "none"))
				.map(a => a.hash + a.checkVisibility()).filter(found => !found.endsWith("false"))`), "")
			is.Equal(p.Text(`document.querySelectorAll("[data-try]").length`), "14")

			p.Do(chromedp.KeyEvent(kb.Tab))
			is.Equal(p.Text(`document.activeElement.className`), "skip")
			is.Equal(p.Text(`document.activeElement.getBoundingClientRect().left >= 0`), "true")

			// By keyboard alone: the search finds a word of the text, and leads to its place.
			p.Press("/")
			is.Equal(p.Text(`document.activeElement.id`), "search")
			p.Text(`document.activeElement.select()`) // A key of the test is typed, although the page took it.
			p.Press("oldest batch")
			is.Equal(p.Text(`document.getElementById("found").innerText`), "1 of 35 places")
			p.Picture(screen.name + "-reference-search")
			p.Do(chromedp.KeyEvent(kb.ArrowDown))
			is.Equal(p.Text(`document.activeElement.hash`), "#createCheckout")
			p.Do(chromedp.KeyEvent(kb.Enter))
			p.Wait(`location.hash === "#createCheckout" && Math.abs(document.getElementById("createCheckout")
				.getBoundingClientRect().top) < 200`)
			is.Equal(p.Text(`document.querySelector(".contents details").open`), strconv.FormatBool(screen.name == "desktop"))
			p.Wait(`document.querySelector(".contents [aria-current]").hash === "#createCheckout"`) // where one is at
			p.Readable(screen.name + "-reference-checkout")
			p.Press("/")
			p.Text(`document.activeElement.select()`)
			p.Press("zeppelin")
			is.Equal(p.Text(`document.getElementById("found").innerText`), "Nothing has these words.")
			p.Do(chromedp.KeyEvent(kb.Escape))
			is.Equal(p.Text(`document.querySelectorAll(".contents li[hidden]").length`), "0")

			// The samples have the address of the page, and the key that is typed, if it is one. A language is that of all.
			const shown = `[...document.querySelectorAll("#createCheckout .code:has(fieldset) > pre")]` +
				`.filter(e => e.checkVisibility()).map(e => e.textContent).join()`
			is.True(strings.HasPrefix(p.Text(shown), "curl '"+base+"/checkouts'"))
			p.Text(`document.getElementById("my-key").focus()`)
			p.Press("'; rm -rf /")
			is.Equal(p.Text(`document.getElementById("my-hint").innerText`), "A key looks like svc_live.key-id.secret.")
			is.True(strings.Contains(p.Text(shown), "Bearer svc_live.key-id.secret'"))
			p.Text(`document.getElementById("my-key").select()`)
			p.Press(d.key)
			is.Equal(p.Text(`getComputedStyle(document.activeElement).webkitTextSecurity`), "disc") // not shown
			is.True(strings.Contains(p.Text(shown), "Bearer "+d.key+"'"))
			p.Text(`document.querySelector("#listEvents [value=curl]").focus()`)
			p.Do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
			p.Picture(screen.name + "-reference-python")
			is.True(strings.Contains(p.Text(shown), `"Authorization": "Bearer `+d.key+`",`))
			is.True(strings.Contains(p.Text(shown), `"`+base+`/checkouts",`))
			accessible(t, p)

			p.KeepsNothing()
			is.True(!strings.Contains(p.Text(`location.href`), d.key))
			p.Do(chromedp.Reload())
			p.Wait(`document.readyState === "complete" && document.getElementById("my-key").value === ""`)
			printed(t, p, screen.name+"-reference")
			p.KeepsNothing()
			p.IsClean()
		})
	}
}

// A user with a keyboard, or a phone, makes a call of the reference. Swagger UI is loaded for that, and not before. The
// page sends no request to another host, does not violate its policy, and stores nothing.
func TestBrowserTryIt(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	for _, screen := range screens() {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, &httpapi.Config{Prefix: screen.prefix, RateLimit: -1})
			p := browser.Open(t, d.server.URL+strings.TrimSuffix(screen.prefix, "/")+"/docs", screen.size)
			is.Equal(p.Text(`performance.getEntriesByType("resource").filter(e => e.name.includes("swagger")).length`), "0")
			p.Text(`document.querySelector("[data-try=listEvents]").focus()`)
			p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(`#operations-Events-listEvents .try-out__btn`)))
			is.Equal(p.Text(`document.activeElement.id + " " + document.querySelectorAll(".opblock.is-open").length`),
				"try-name 1")
			p.Fits()
			p.Readable(screen.name + "-try")
			accessible(t, p)
			later := func(landmarks ...string) { // The tree of so long a page takes seconds.
				if screen.size == browsertest.Desktop {
					accessible(t, p, landmarks...)
				}
			}

			// By keyboard alone: to Authorize, and through its dialog.
			p.TabTo(`.btn.authorize`)
			p.Picture(screen.name + "-try-authorize-focused")
			p.Do(chromedp.KeyEvent(kb.Escape))
			is.Equal(p.Text(`document.querySelector(".dialog-ux")`), "null")
			p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(`#auth-bearer-value`)))
			is.Equal(p.Text(`document.activeElement.id + " " + document.activeElement.autocomplete`), "auth-bearer-value off")
			p.Do(chromedp.KeyEvent(d.key))
			later("dialog")
			is.Equal(p.Text(`getComputedStyle(document.activeElement).webkitTextSecurity`), "disc") // The key is not shown.
			p.Fits()
			p.Readable(screen.name + "-try-dialog")
			p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(chromedp.CSS(`#auth-bearer-value`)))
			for range 7 { // The dialog keeps the focus while it is open.
				p.Do(chromedp.KeyEvent(kb.Tab))
				is.Equal(p.Text(`document.activeElement.closest(".dialog-ux") !== null`), "true")
			}
			p.TabTo(`.btn-done`)
			p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(chromedp.CSS(`.dialog-ux`)))
			is.Equal(p.Text(`document.activeElement.matches(".btn.authorize")`), "true")

			// A call, by keyboard too.
			const operation = `#operations-Events-listEvents `
			p.TabTo(operation + `.try-out__btn`)
			p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(operation+`.execute`)))
			p.TabTo(operation + `.execute`)
			p.Do(
				chromedp.KeyEvent(kb.Enter),
				chromedp.WaitVisible(chromedp.CSS(operation+`.live-responses-table .response-col_status`)),
			)
			p.Wait(`innerWidth === document.documentElement.clientWidth`) // A phone would zoom out from what is too wide.
			answer := p.Text(`document.querySelector("` + operation + `.live-responses-table tbody").innerText`)
			p.Fits()
			p.Readable(screen.name + "-try-answer")
			later()
			is.True(strings.HasPrefix(answer, "200"))
			told := regexp.MustCompile(`"requestId": "([0-9a-f-]{36})"`).FindStringSubmatch(answer)
			is.True(told != nil)
			is.True(strings.Contains(answer, "x-request-id: "+told[1]))

			// The command to copy makes the same call without the key. The page shows the key nowhere.
			command := p.Text(`document.querySelector("` + operation + `.curl").innerText`)
			is.True(strings.Contains(command, "curl -X 'GET'"))
			is.True(strings.Contains(command, "'Authorization: Bearer <API_KEY>'"))
			is.True(!strings.Contains(p.Text(`document.documentElement.outerHTML + location.href`), d.key))

			// A body to write.
			const create = `#operations-Events-createEvent `
			p.Text(`document.querySelector("[data-try=createEvent]").click()`)
			p.Do(
				chromedp.Click(chromedp.CSS(create+`.try-out__btn`)),
				chromedp.WaitVisible(chromedp.CSS(create+`.body-param__text`)),
			)
			later()

			// Nothing is stored: after a reload the page has no key. A key for the samples is that of the calls, too.
			p.KeepsNothing()
			p.Do(chromedp.Reload())
			p.Wait(`document.readyState === "complete"`)
			p.Text(`document.querySelector("[data-try=listEvents]").click()`)
			p.Do(chromedp.WaitVisible(chromedp.CSS(`.btn.authorize.unlocked`)))
			p.Text(`document.getElementById("my-key").focus()`)
			p.Press(d.key)
			p.Text(`document.querySelector("[data-try=getEvent]").click()`)
			p.Do(chromedp.WaitVisible(chromedp.CSS(`.btn.authorize.locked`)))
			p.KeepsNothing()
			p.IsClean()
		})
	}
}

// The page does not show another contract as this one, and says why: a client verifies title and version before use
// (section 9).
func TestBrowserDocsOfAnotherContract(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	replaced := func(old, with string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			text, err := os.ReadFile(openAPIFile)
			if err != nil || bytes.Count(text, []byte(old)) != 1 {
				panic("openapi.json does not say " + old)
			}
			_, _ = w.Write(bytes.Replace(text, []byte(old), []byte(with), 1))
		}
	}
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
		loud   bool // The browser also reports such an answer.
	}{
		{
			name: "title", answer: replaced(`"title": "Service Public API"`, `"title": "Another API"`),
			says: `openapi.json is of "Another API", version "1", not of "Service Public API", version "1".`,
		},
		{
			name: "version", answer: replaced(`"version": "1"`, `"version": "2"`),
			says: `openapi.json is of "Service Public API", version "2", not of "Service Public API", version "1".`,
		},
		{
			name: "a number for a version", answer: replaced(`"version": "1"`, `"version": 1`),
			says: `openapi.json is of "Service Public API", version 1, not of "Service Public API", version "1".`,
		},
		{
			name: "none", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
			says: "openapi.json is not JSON.",
		},
		{
			name: "busy", loud: true,
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			says: "Too many requests from your address. Load the page again in 7 seconds.",
		},
		{
			name: "busy, by a proxy", loud: true,
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
			says:   "Too many requests from your address. Load the page again in a minute.",
		},
		{
			name: "away", loud: true,
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			says:   "openapi.json was answered with status 502.",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			mux := http.NewServeMux()
			mux.Handle("/", deploy(t, nil).handler(t))
			mux.Handle(openAPIPath, test.answer)
			other := httptest.NewServer(mux)
			t.Cleanup(other.Close)
			p := browser.Open(t, other.URL+httpapi.DefaultPrefix+"/docs", browsertest.Phone)
			p.Do(chromedp.Click(chromedp.CSS(`[data-try=listEvents]`)), chromedp.WaitVisible(chromedp.CSS(`#state[role=alert]`)))
			is.Equal(p.Text(`document.getElementById("state").innerText`), "The reference cannot be tried. "+test.says)
			is.Equal(p.Text(`document.querySelectorAll(".opblock").length`), "0")
			p.Fits()
			if !test.loud {
				p.IsClean()
			}
		})
	}
}

// The pages and their calls work if a proxy adds its own path before the API's.
func TestBrowserDocsBehindAProxy(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := deploy(t, nil)
	proxy := httptest.NewServer(http.StripPrefix("/shop", d.handler(t)))
	t.Cleanup(proxy.Close)
	p := browsertest.New(t).Open(t, proxy.URL+"/shop"+httpapi.DefaultPrefix+"/docs", browsertest.Desktop)
	const operation = `#operations-Events-listEvents `
	p.Do(
		chromedp.Click(chromedp.CSS(`[data-try=listEvents]`)),
		chromedp.Click(chromedp.CSS(operation+`.try-out__btn`)),
		chromedp.Click(chromedp.CSS(operation+`.execute`)),
		chromedp.WaitVisible(chromedp.CSS(operation+`.live-responses-table .response-col_status`)),
	)
	is.Equal(p.Text(`document.querySelector("`+operation+`.request-url").innerText.trim()`),
		"Request URL\n"+proxy.URL+"/shop"+httpapi.DefaultPrefix+"/events?limit=25")
	is.True(strings.Contains(p.Text(`document.querySelector("`+operation+`.live-responses-table").innerText`),
		"AUTHENTICATION_FAILED"))
	p.Do(chromedp.Click(chromedp.CSS(`.top a[href="guide"]`)), chromedp.WaitVisible(chromedp.CSS(`#guide`)))
}

// The guide can be read on a phone and on a desktop, in the dark and on paper, and links to the other documents.
func TestBrowserGuide(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	for _, screen := range screens() {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, &httpapi.Config{Prefix: screen.prefix, RateLimit: -1})
			p := browser.Open(t, d.server.URL+strings.TrimSuffix(screen.prefix, "/")+"/guide", screen.size)
			is.Equal(p.Text(`document.documentElement.lang`), "en")
			is.Equal(p.Text(`document.title`), "Integration guide · Ticketing")
			is.Equal(p.Text(`[...document.querySelectorAll(".contents a")].every(a =>
				document.getElementById(decodeURIComponent(a.hash.slice(1))).textContent === a.textContent)`), "true")
			p.Fits()
			p.Readable(screen.name + "-guide")
			accessible(t, p)
			is.Equal(p.Text(`[...document.querySelectorAll(".strip:has(.languages)")].filter(e =>
				e.querySelector(".languages label:last-of-type").getBoundingClientRect().right + 4 >
				e.querySelector("button").getBoundingClientRect().left).length`), "0") // languages beside "Copy"
			// too wide
			is.Equal(p.Text(`[...document.querySelectorAll("table")].filter(e => e.offsetWidth > e.parentElement.clientWidth)`),
				"")
			is.Equal(p.Text(`[...document.querySelectorAll("main :is(h2, h3)")]`+
				`.every(h => h.querySelector("a").hash === "#" + h.id)`), "true")
			p.Do(chromedp.KeyEvent(kb.Tab))
			is.Equal(p.Text(`document.activeElement.className`), "skip")
			p.Do(chromedp.KeyEvent(kb.Enter))
			is.Equal(p.Text(`document.activeElement.id`), "guide")
			if screen.name == "desktop" { // No command or answer is cut off.
				is.Equal(p.Text(`[...document.querySelectorAll("pre")].filter(e => e.scrollWidth > e.clientWidth)`+
					`.map(e => e.innerText)`), "")
			}

			// Commands are copied unchanged, with a button that the keyboard reaches.
			p.Allow("clipboard-read", "clipboard-write")
			p.TabTo(`.strip button`)
			copied := p.Copied(func() { p.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(`.copied`))) })
			is.Equal(p.Text(`document.activeElement.innerText + ". " + document.querySelector("[role=status]").innerText`),
				"Copied. Copied to the clipboard")
			is.Equal(copied, p.Text(`document.querySelector("pre").textContent`))
			// They have the address that the guide is served at.
			is.True(strings.Contains(p.Text(`document.querySelector("pre").textContent`),
				"BASE_URL=${BASE_URL:-"+d.server.URL+strings.TrimSuffix(screen.prefix, "/")+"}"))

			// The contents fold on a phone, and mark the place one is at.
			is.Equal(p.Text(`document.querySelector(".contents li").checkVisibility({ contentVisibilityAuto: true }) &&
				document.querySelector(".contents li").getBoundingClientRect().height > 0`),
				strconv.FormatBool(screen.name == "desktop"))
			p.Text(`location.hash = "#at-the-gate"`)
			p.Wait(`document.querySelector(".contents [aria-current]")?.hash === "#at-the-gate"`)
			p.Readable(screen.name + "-guide-gate")
			printed(t, p, screen.name+"-guide")
			p.KeepsNothing()
			p.Do(chromedp.Click(chromedp.CSS(`.top a[href="docs"]`)),
				chromedp.WaitVisible(chromedp.CSS(`#reference`)))
			p.IsClean()
		})
	}
}
