// Package browsertest opens pages in a real browser, for tests of what the project serves, mails and prints. It starts
// the Chromium that is installed, once for the tests of a package that run at the same time. Each page has cookies and
// storage of its own.
//
//	browser := browsertest.New(t)
//	p := browser.Open(t, server.URL+"/guide", browsertest.Phone)
//	p.Fits()
//	p.Readable("guide")
//	browsertest.Axe(t, p)
//	p.IsClean()
//
// The browser reaches only this machine. TICKETING_TEST_PICTURES names a folder for the pictures of the pages.
package browsertest

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/floatgate/ticketing/internal/race"
)

// Browser is a Chromium.
type Browser struct{ ctx context.Context } //nolint:containedctx // chromedp keeps its browser in a context.

// Size is the size of a window, in CSS pixels. A window narrower than 600 is that of a phone, with touch and without
// scroll bars.
type Size struct{ Width, Height int64 }

// The sizes that most tests use.
var (
	Desktop = Size{1280, 900}
	Phone   = Size{360, 740}
)

// New returns a Chromium that trusts servers of the authority [Trusted] over TLS, and no others. It ends with the last
// of the tests that share it.
//
// With the roots of other authorities it is a Chromium for this test alone, and trusts servers of these authorities.
//
// The test is skipped with -short, under the race detector, and if no Chromium is installed. .ci/run installs one, and
// counts that skip as a failure.
func New(tb testing.TB, roots ...*x509.Certificate) Browser {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short leaves the browser out")
	}
	race.Leave(tb, "the browser: it sees the handlers in other tests")
	var program string
	// The first is Chromium without what surrounds pages, and takes half of the processor time.
	for _, name := range []string{
		"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		tb.Skip("no Chromium is installed: apt-get install chromium, or the like")
	}
	if len(roots) == 0 {
		return theShared().use(tb, program)
	}
	browser, end, err := start(program, roots)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	return browser
}

// shared is the Chromium of the tests that are running.
type shared struct {
	mu      sync.Mutex
	users   int // the tests that have it
	browser Browser
	end     func()
}

var theShared = sync.OnceValue(func() *shared { return &shared{} })

// use returns the shared Chromium until the test ends. It starts one if there is none, or if it has crashed.
func (s *shared) use(tb testing.TB, program string) Browser {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users > 0 && s.browser.ctx.Err() != nil {
		s.end()
		s.end = nil
	}
	if s.end == nil {
		browser, end, err := start(program, []*x509.Certificate{Trusted(tb).Root})
		if err != nil {
			tb.Fatal(err)
		}
		s.browser, s.end = browser, end
	}
	s.users++
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			s.end()
			s.end = nil
		}
	})
	return s.browser
}

// start starts a Chromium that trusts servers of the authorities with these roots, and runs until end is called.
func start(program string, roots []*x509.Certificate) (_ Browser, end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost"),
		// Frames of other sites run in the process of the page. So their requests, messages and violations are recorded
		// together with those of the page, from the first one on.
		chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "Translate,IsolateOrigins,site-per-process,IsolateSandboxedIframes"),
		trust(roots))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Its sandbox does not work for root.
	}
	ctx, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	silent := func(string, ...any) {} // It logs events that it does not know.
	ctx, endBrowser := chromedp.NewContext(ctx, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	end = func() {
		_ = chromedp.Cancel(ctx) // It waits until the browser has ended and its folder is removed.
		endBrowser()
		endAllocator()
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		return Browser{}, nil, fmt.Errorf("the browser did not start: %w", err)
	}
	return Browser{ctx}, end, nil
}

// Open opens the page at a URL in a window of its own, without cookies or anything else stored, and waits until it has
// loaded. The page is closed with the test.
func (b Browser) Open(tb testing.TB, url string, size Size) *Page {
	tb.Helper()
	p := b.newPage(tb, url, nil)
	p.Resize(size)
	p.Do(chromedp.Navigate(url))
	return p
}

// HTML is a document that no server serves, such as the HTML of a mail.
type HTML struct {
	Text string
	// Remote holds pictures by their URLs on other hosts. The page gets them instead of the real ones. Nothing else on
	// other hosts can be reached.
	Remote map[string][]byte
	// NoPictures shows no pictures, remote or within the text, like a mail program that blocks them.
	NoPictures bool
}

// Show opens a document as [Browser.Open] does, from its own server.
func (b Browser) Show(tb testing.TB, document HTML, size Size) *Page {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent) // A browser asks for an icon by itself.
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if document.NoPictures {
			w.Header().Set("Content-Security-Policy", "img-src 'none'")
		}
		_, _ = w.Write([]byte(document.Text))
	}))
	tb.Cleanup(server.Close)
	p := b.newPage(tb, server.URL, document.Remote)
	p.Resize(size)
	p.Do(chromedp.Navigate(server.URL))
	return p
}
