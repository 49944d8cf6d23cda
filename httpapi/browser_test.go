package httpapi_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/httpapi"
)

// screen is one that a page is looked at on, and the prefix that the API lies under there.
type screen struct {
	name          string
	width, height int64
	prefix        string
}

func screens() []screen {
	return []screen{{"desktop", 1280, 900, httpapi.DefaultPrefix}, {"phone", 375, 740, "/"}}
}

// Somebody with a keyboard, or a phone, reads the reference, enters a key and makes a call. Nothing is asked of another
// host, nothing offends the policy, and nothing is kept.
func TestBrowserDocs(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for _, screen := range screens() {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, &httpapi.Config{Prefix: screen.prefix, RateLimit: -1})
			p := browser.open(t, d.server, screen.prefix, "/docs", screen.width, screen.height)
			p.do(chromedp.WaitVisible(chromedp.CSS(`#operations-Events-listEvents`)))
			is.Equal(p.text(`document.documentElement.lang`), "en")
			is.Equal(p.text(`document.title`), "Reference · Service Public API")
			is.Equal(p.text(`document.querySelectorAll("h1").length`), "1")
			is.Equal(p.text(`document.querySelectorAll(".opblock:not(.opblock-webhook)").length >= 14`), "true")
			p.fits()
			p.readable(screen.name + "-docs")

			// By keyboard alone: to the skip link, to Authorize, and through its dialog.
			p.do(chromedp.KeyEvent(kb.Tab))
			is.Equal(p.text(`document.activeElement.className`), "skip")
			is.Equal(p.text(`document.activeElement.getBoundingClientRect().left >= 0`), "true")
			p.tabTo(`.btn.authorize`)
			p.picture(screen.name + "-docs-authorize-focused")
			p.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(`#auth-bearer-value`)))
			is.Equal(p.text(`document.activeElement.id + " " + document.activeElement.autocomplete`), "auth-bearer-value off")
			p.do(chromedp.KeyEvent(d.key))
			p.fits()
			p.readable(screen.name + "-docs-dialog")
			p.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(chromedp.CSS(`#auth-bearer-value`)))
			p.tabTo(`.btn-done`)
			p.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(chromedp.CSS(`.dialog-ux`)))

			// A call.
			const operation = `#operations-Events-listEvents `
			p.do(
				chromedp.Click(chromedp.CSS(operation+`.opblock-summary-control`)),
				chromedp.Click(chromedp.CSS(operation+`.try-out__btn`)),
				chromedp.Click(chromedp.CSS(operation+`.execute`)),
				chromedp.WaitVisible(chromedp.CSS(operation+`.live-responses-table .response-col_status`)),
			)
			is.Equal(p.text(`location.hash`), "#/Events/listEvents")
			answer := p.text(`document.querySelector("` + operation + `.live-responses-table tbody").innerText`)
			p.fits()
			p.readable(screen.name + "-docs-answer")
			is.True(strings.HasPrefix(answer, "200"))
			told := regexp.MustCompile(`"requestId": "([0-9a-f-]{36})"`).FindStringSubmatch(answer)
			is.True(told != nil)
			is.True(strings.Contains(answer, "x-request-id: "+told[1]))

			// Nothing is kept, and another visit knows nothing.
			p.keepsNothing()
			p.do(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS(`.btn.authorize.unlocked`)))
			p.keepsNothing()
			p.isClean()
		})
	}
}

// The page shows nothing as the contract that is none, and says so.
func TestBrowserDocsOfAnotherContract(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := deploy(t, nil)
	other := httptest.NewServer(renamed{d.server.Config.Handler})
	t.Cleanup(other.Close)
	p := newBrowser(t).open(t, other, httpapi.DefaultPrefix, "/docs", 375, 740)
	p.do(chromedp.WaitVisible(chromedp.CSS(`#state[role=alert]`)))
	is.Equal(p.text(`document.getElementById("state").innerText`), `The reference cannot be shown. openapi.json is of `+
		`"Another API", version "1", not of "Service Public API", version "1".`)
	is.Equal(p.text(`document.querySelectorAll(".opblock").length`), "0")
	p.fits()
	p.isClean()
}

// The guide is read on a phone as on a desk, in the dark and on paper, and leads to the other documents.
func TestBrowserGuide(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for _, screen := range screens() {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, &httpapi.Config{Prefix: screen.prefix, RateLimit: -1})
			p := browser.open(t, d.server, screen.prefix, "/guide", screen.width, screen.height)
			is.Equal(p.text(`document.documentElement.lang`), "en")
			is.Equal(p.text(`document.title`), "Integration guide · Service Public API")
			is.Equal(p.text(`[...document.querySelectorAll(".contents a")].every(a =>
				document.getElementById(decodeURIComponent(a.hash.slice(1))).innerText === a.innerText)`), "true")
			p.fits()
			p.readable(screen.name + "-guide")
			p.do(chromedp.KeyEvent(kb.Tab))
			is.Equal(p.text(`document.activeElement.className`), "skip")
			p.keepsNothing()
			p.do(chromedp.Click(chromedp.CSS(`.top a[href="docs"]`)), chromedp.WaitVisible(chromedp.CSS(`#operations-Events-listEvents`)))
			p.isClean()
		})
	}
}
