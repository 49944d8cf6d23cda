package browsertest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// pictures names the environment variable with the folder for pictures of pages.
const pictures = "TICKETING_TEST_PICTURES"

// Page is a page in a browser. Its methods fail the test that opened it, and are for one goroutine.
type Page struct {
	Frame // its own document

	tb    testing.TB
	ctx   context.Context //nolint:containedctx // chromedp keeps its tab in a context.
	touch bool            // The window is that of a phone.

	mu         sync.Mutex
	origins    []string // its own and those of OwnOrigins, with a slash after each
	asked      []string // all URLs that it requested
	messages   []string // of the console
	violations []string // of a Content-Security-Policy
	contexts   map[cdp.FrameID]runtime.ExecutionContextID
}

// newPage opens an empty page, and records its requests and the messages of its console from then on.
func (b Browser) newPage(tb testing.TB, address string, remote map[string][]byte) *Page {
	tb.Helper()
	at, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	tb.Cleanup(end)
	return openPage(ctx, tb, at.Scheme+"://"+at.Host+"/", remote)
}

func openPage(ctx context.Context, tb testing.TB, origin string, remote map[string][]byte) *Page {
	tb.Helper()
	p := &Page{
		tb: tb, ctx: ctx, origins: []string{origin}, contexts: make(map[cdp.FrameID]runtime.ExecutionContextID),
	}
	p.page = p
	p.must(chromedp.Listen(ctx, p.watch))
	_, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{})
	p.must(err)
	if remote != nil {
		p.replace(remote)
	}
	p.Media(Media{})
	return p
}

// Tab opens the page at a URL in another tab of the same window, which shares cookies and storage with this page.
func (p *Page) Tab(url string, size Size) *Page {
	p.tb.Helper()
	ctx, end := chromedp.NewContext(p.ctx)
	p.tb.Cleanup(end)
	tab := openPage(ctx, p.tb, p.origins[0], nil)
	tab.origins = slices.Clone(p.origins)
	tab.Resize(size)
	tab.Do(chromedp.Navigate(url))
	return tab
}

// OwnOrigins adds origins, such as https://localhost:8443, to which the page may send requests: [Page.Elsewhere] leaves
// them out.
func (p *Page) OwnOrigins(origins ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, origin := range origins {
		p.origins = append(p.origins, strings.TrimSuffix(origin, "/")+"/")
	}
}

// watch records an event of the page.
func (p *Page) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, event.Request.URL)
	case *runtime.EventExecutionContextCreated:
		var of contextOf
		if err := json.Unmarshal(event.Context.AuxData, &of); err == nil && of.IsDefault {
			p.contexts[of.Frame] = event.Context.ID
		}
	case *runtime.EventExecutionContextsCleared:
		clear(p.contexts)
	case *audits.EventIssueAdded:
		if event.Issue.Details == nil || event.Issue.Details.ContentSecurityPolicyIssueDetails == nil {
			return
		}
		broken := event.Issue.Details.ContentSecurityPolicyIssueDetails
		p.violations = append(p.violations, fmt.Sprintf("%s: %s %s", broken.ViolatedDirective,
			broken.ContentSecurityPolicyViolationType, broken.BlockedURL))
	case *log.EventEntryAdded:
		p.messages = append(p.messages, fmt.Sprintf("%s: %s %s", event.Entry.Level, event.Entry.Text, event.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		if event.Type != runtime.ConsoleAPICalledTypeLog && event.Type != runtime.ConsoleAPICalledTypeDebug {
			said := make([]string, 0, len(event.Args))
			for _, arg := range event.Args {
				said = append(said, cmp.Or(string(arg.Value), arg.Description))
			}
			p.messages = append(p.messages, fmt.Sprintf("%s: %s", event.Type, strings.Join(said, " ")))
		}
	case *runtime.EventExceptionThrown:
		p.messages = append(p.messages, event.ExceptionDetails.Text)
	}
}

// replace gives the page the pictures of other hosts, until it is closed.
func (p *Page) replace(remote map[string][]byte) {
	p.tb.Helper()
	paused := chromedp.Events(p.ctx, fetch.RequestPaused)
	go func() {
		for event, err := range paused {
			if err != nil {
				return // The page is closed.
			}
			if body, found := remote[event.Request.URL]; found {
				_, _ = chromedp.Call(p.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
					RequestID: event.RequestID, ResponseCode: http.StatusOK, Body: body,
				})
				continue
			}
			_, _ = chromedp.Call(p.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: event.RequestID})
		}
	}()
	_, err := chromedp.Call(p.ctx, fetch.Enable, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{ResourceType: network.ResourceTypeImage}},
	})
	p.must(err)
}

// Do runs actions on the page, for at most a minute.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.tb.Helper()
	ctx, expire := context.WithTimeout(p.ctx, time.Minute)
	defer expire()
	p.must(chromedp.Do(ctx, actions...))
}

// must fails the test if an action failed, and shows the messages of the console.
func (p *Page) must(err error) {
	p.tb.Helper()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tb.Fatalf("%v\n%s", err, strings.Join(p.messages, "\n"))
	}
}

// Context returns the context of the page, with which chromedp runs commands of its protocol.
func (p *Page) Context() context.Context { return p.ctx }

// Press types keys, such as "\t" for Tab, to what has the focus.
func (p *Page) Press(keys string) {
	p.tb.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// Resize gives the window another size.
func (p *Page) Resize(size Size) {
	p.tb.Helper()
	var options []chromedp.EmulateViewportOption
	p.touch = size.Width < 600
	if p.touch {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.Do(chromedp.EmulateViewport(size.Width, size.Height, options...))
}

// Media is the medium that the page is styled for. The zero Media is a screen in the light color scheme.
type Media struct{ Dark, Print bool }

// Media styles the page for a medium. It turns motion off, so that a picture shows the end of a transition.
func (p *Page) Media(media Media) {
	p.tb.Helper()
	scheme, kind := "light", ""
	if media.Dark {
		scheme = "dark"
	}
	if media.Print {
		kind = "print"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind, Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	p.must(err)
}

// Screenshot returns the visible part of the page, as a PNG.
func (p *Page) Screenshot() []byte {
	p.tb.Helper()
	seen, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must(err)
	return seen
}

// Picture saves the visible part of the page as NAME.png, if a folder is set.
func (p *Page) Picture(name string) {
	p.tb.Helper()
	if os.Getenv(pictures) != "" {
		p.save(name+".png", p.Screenshot())
	}
}

// FullPicture saves the whole page as NAME.png, if a folder is set.
func (p *Page) FullPicture(name string) {
	p.tb.Helper()
	if os.Getenv(pictures) != "" {
		seen, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100)) // 100 is a PNG.
		p.must(err)
		p.save(name+".png", seen)
	}
}

// Print prints the page like its reader would, on A4 without backgrounds, and returns how many sheets it takes. It
// saves them as NAME.pdf, if a folder is set.
func (p *Page) Print(name string) (sheets int) {
	p.tb.Helper()
	paper, err := chromedp.Call(p.ctx, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69})
	p.must(err)
	if os.Getenv(pictures) != "" {
		p.save(name+".pdf", paper.Data)
	}
	return len(sheet.FindAll(paper.Data, -1))
}

// sheet matches the object of a page in a PDF that Chromium writes, and not that of the tree of pages.
var sheet = regexp.MustCompile(`/Type\s*/Page\b`)

func (p *Page) save(name string, content []byte) {
	p.tb.Helper()
	p.must(os.WriteFile(filepath.Join(os.Getenv(pictures), name), content, 0o600))
}

// Elsewhere returns the URLs on other hosts that the page and its frames have requested, each once and sorted. It
// includes those that a policy blocked.
func (p *Page) Elsewhere() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	elsewhere := []string{}
	for _, asked := range p.asked {
		own := func(origin string) bool { return strings.HasPrefix(strings.TrimPrefix(asked, "blob:"), origin) }
		if !strings.HasPrefix(asked, "data:") && !slices.ContainsFunc(p.origins, own) {
			elsewhere = append(elsewhere, asked)
		}
	}
	slices.Sort(elsewhere)
	return slices.Compact(elsewhere)
}

// PolicyViolations returns what a Content-Security-Policy of the page or of a frame in it has blocked or reported.
func (p *Page) PolicyViolations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// Transferred returns how many bytes the document and its resources took over the network, headers included. If the
// server compresses, these are fewer than their sizes.
func (p *Page) Transferred() int {
	p.tb.Helper()
	bytes, err := strconv.Atoi(p.Text(`[...performance.getEntriesByType("navigation"),
		...performance.getEntriesByType("resource")].reduce((sum, entry) => sum + entry.transferSize, 0)`))
	p.must(err)
	return bytes
}
