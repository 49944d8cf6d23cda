package httpapi_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// pictures names the environment variable with the folder for the screenshots of the browser tests.
const pictures = "TICKETING_TEST_PICTURES"

// browser is a Chromium of one test.
type browser struct{ ctx context.Context } //nolint:containedctx // chromedp keeps its browser in a context.

// newBrowser starts a Chromium that ends with the test. The test is skipped if none is installed.
func newBrowser(t *testing.T) browser {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	race.Leave(t, "the browser: it sees the handlers in other tests")
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium is installed: apt-get install chromium, or the like")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Its sandbox refuses root.
	}
	ctx, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	silent := func(string, ...any) {} // It logs events that it does not know.
	ctx, endBrowser := chromedp.NewContext(ctx, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // It waits until the browser has ended and no longer writes to its folder.
		endBrowser()
		end()
	})
	is.New(t).NoErr(chromedp.Do(ctx))
	return browser{ctx}
}

// page is a page in the browser.
type page struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // chromedp keeps its tab in a context.
	origin string

	mu       sync.Mutex
	requests int
	offences []string // messages of the console, and requests to other hosts
}

// open shows a document of a server on a screen, and records its requests and the messages of its console.
func (b browser) open(t *testing.T, server *httptest.Server, prefix, path string, width, height int64) *page {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	p := &page{t: t, ctx: ctx, origin: server.URL + "/"}
	is.New(t).NoErr(chromedp.Listen(ctx, p.watch))
	screen := []chromedp.EmulateViewportOption{}
	if width < 600 {
		screen = append(screen, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.do(
		chromedp.EmulateViewport(width, height, screen...),
		chromedp.Navigate(server.URL+strings.TrimSuffix(prefix, "/")+path),
	)
	return p
}

func (p *page) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests++
		if url := event.Request.URL; !strings.HasPrefix(url, p.origin) && !strings.HasPrefix(url, "data:") {
			p.offences = append(p.offences, "asked for "+url)
		}
	case *log.EventEntryAdded:
		p.offences = append(p.offences, fmt.Sprintf("%s: %s %s", event.Entry.Level, event.Entry.Text, event.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		if event.Type != runtime.ConsoleAPICalledTypeLog && event.Type != runtime.ConsoleAPICalledTypeDebug {
			said := make([]string, 0, len(event.Args))
			for _, arg := range event.Args {
				said = append(said, cmp.Or(string(arg.Value), arg.Description))
			}
			p.offences = append(p.offences, fmt.Sprintf("%s: %s", event.Type, strings.Join(said, " ")))
		}
	case *runtime.EventExceptionThrown:
		p.offences = append(p.offences, event.ExceptionDetails.Text)
	}
}

// do runs actions on the page.
func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, expire := context.WithTimeout(p.ctx, time.Minute)
	defer expire()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.t.Fatalf("%v\n%s", err, strings.Join(p.offences, "\n"))
	}
}

// text returns the value of an expression in the page, as text.
func (p *page) text(expression string) string {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx,
		chromedp.Evaluate[string]("(async () => String("+expression+"))()", chromedp.EvalAwaitPromise))
	is.New(p.t).NoErr(err)
	return value
}

// fits checks that the page does not scroll sideways.
func (p *page) fits() {
	p.t.Helper()
	wider := p.text(`document.documentElement.scrollWidth > innerWidth ||
		visualViewport.width < document.documentElement.clientWidth ?
		[...document.querySelectorAll("body *")]
			.filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)
			.map(e => e.tagName + "." + e.className).slice(0, 9).join("\n") + " at " + innerWidth : ""`)
	is.New(p.t).Equal(wider, "")
}

// contrast lists the texts whose contrast to their background is less than WCAG 2.2 requires (1.4.3): a ratio of 4.5,
// or 3 for large letters.
const contrast = `(() => {
	const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })
	const colour = text => {
		canvas.clearRect(0, 0, 1, 1)
		canvas.fillStyle = text
		canvas.fillRect(0, 0, 1, 1)
		return [...canvas.getImageData(0, 0, 1, 1).data]
	}
	const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] / 255 + under[i] * (1 - top[3] / 255))
	const behind = e => e === null ? colour("Canvas") :
		over(colour(getComputedStyle(e).backgroundColor), behind(e.parentElement))
	const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) =>
		sum + share * (c[i] <= 10 ? c[i] / 255 / 12.92 : ((c[i] / 255 + 0.055) / 1.055) ** 2.4), 0)
	const faint = new Set()
	for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();) {
		const e = walk.currentNode.parentElement
		if (walk.currentNode.data.trim() === "" || !e.checkVisibility({ visibilityProperty: true })) continue
		if (e.matches("script, noscript, style, option, :disabled")) continue
		const style = getComputedStyle(e), ground = behind(e), ink = over(colour(style.color), ground)
		const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x)
		const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700)
		const ratio = (a + 0.05) / (b + 0.05)
		if (ratio < (large ? 3 : 4.5)) {
			faint.add(e.tagName + "." + e.className + " in " + e.parentElement.className + ": " + ratio.toFixed(2) + " " +
				style.color + " on " + ground.map(Math.round) + " " + walk.currentNode.data.slice(0, 20))
		}
	}
	return [...faint].join("\n")
})()`

// readable checks the contrast of the page in the light and the dark color scheme.
func (p *page) readable(name string) {
	p.t.Helper()
	is := is.New(p.t)
	for _, scheme := range []string{"dark", "light"} {
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		is.NoErr(err)
		p.picture(name + "-" + scheme)
		is.Equal(p.text(contrast), "")
	}
}

// tabTo presses Tab until an element has the focus, and checks that the focus is visible.
func (p *page) tabTo(selector string) {
	p.t.Helper()
	for range 30 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if p.text(`document.activeElement.matches("`+selector+`")`) == "true" {
			is.New(p.t).True(p.text(`getComputedStyle(document.activeElement).outlineStyle`) != "none")
			return
		}
	}
	p.t.Fatalf("no %s is reached by Tab", selector)
}

// keepsNothing checks that the browser has stored nothing for the page.
func (p *page) keepsNothing() {
	p.t.Helper()
	is := is.New(p.t)
	is.Equal(p.text(`localStorage.length + " " + sessionStorage.length + " " + (await indexedDB.databases()).length + " " +
		(await caches.keys()).length`), "0 0 0 0")
	kept, err := chromedp.Call(p.ctx, network.GetCookies, network.GetCookiesParams{})
	is.NoErr(err)
	is.Equal(len(kept.Cookies), 0)
}

// isClean checks that the page has sent requests to its own server only. It checks that the browser reported no error,
// and no violation of the Content-Security-Policy.
func (p *page) isClean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	is := is.New(p.t)
	is.Equal(p.offences, nil)
	is.True(p.requests > 0)
}

// picture saves a screenshot if a folder is set.
func (p *page) picture(name string) {
	p.t.Helper()
	folder := os.Getenv(pictures)
	if folder == "" {
		return
	}
	seen, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	is.New(p.t).NoErr(err)
	is.New(p.t).NoErr(os.WriteFile(filepath.Join(folder, name+".png"), seen, 0o600))
}
