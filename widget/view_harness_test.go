package widget_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// call is what the widget has sent through its transport.
type call struct {
	Operation string
	Payload   json.RawMessage
}

// answer is what a call is answered: an envelope, a refusal, or nothing that arrives.
type answer struct {
	Envelope   any    `json:"envelope,omitempty"`
	Lost       bool   `json:"lost,omitempty"`
	Status     int    `json:"status,omitempty"`
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	RetryAfter *int   `json:"retryAfter"`
}

// refuse returns a refusal of the proxy.
func refuse(status int, code string) answer {
	return answer{Status: status, Code: code, Message: "The upstream's own words.", RequestID: "req-7f3a"}
}

// lost is an answer that never arrives.
func lost() answer { return answer{Lost: true} }

// shop is a page that sells, whose proxy is a script.
type shop struct {
	url string

	mu    sync.Mutex
	calls []call
	// reply answers the call of an operation, of which there were n before.
	reply func(c call, n int) answer
}

// page is how the shop's page is made.
type page struct {
	Dir string `json:"-"`
	// Speed is how much faster time passes for the widget. Defaults to 25.
	Speed int            `json:"speed"`
	Mount map[string]any `json:"mount"`
	// Offline makes the browser believe that it has no connection.
	Offline bool `json:"offline"`
}

// newShop serves a shop. A reply without an envelope, status and loss is replaced by what a shop that sells answers.
func newShop(t testing.TB, about page, reply func(c call, n int) answer) *shop {
	t.Helper()
	s := &shop{reply: reply}
	files := http.StripPrefix("/embeds/v1/", http.FileServer(http.Dir("assets")))
	mux := http.NewServeMux()
	mux.Handle("/embeds/v1/", files)
	mux.HandleFunc("/page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/page.js") })
	mux.HandleFunc("/script", s.serve)
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	about.Speed = cmp.Or(about.Speed, 25)
	options, err := json.Marshal(about)
	is.New(t).NoErr(err)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store") // The way back loads the page once more.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"connect-src 'self'; img-src https: data:; base-uri 'none'; form-action 'none'")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en" dir="%s"><meta charset="utf-8"><title>Shop</title>
			<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
			<link rel="icon" href="data:,"><link rel="stylesheet" href="/page.css">
			<main><h1>Harmattan Live</h1><div id="shop"></div></main>
			<script src="/embeds/v1/service.js"></script><script src="/page.js" data-options="%s"></script></html>`,
			about.Dir, html.EscapeString(string(options)))
	})
	mux.HandleFunc("/page.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		_, _ = w.Write([]byte("body{font-family:system-ui,sans-serif;margin:0}" +
			"main{max-width:70rem;margin:auto;padding:1rem}"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// serve answers a call.
func (s *shop) serve(w http.ResponseWriter, r *http.Request) {
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	n := 0
	for _, earlier := range s.calls {
		if earlier.Operation == c.Operation {
			n++
		}
	}
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	var a answer
	if s.reply != nil {
		a = s.reply(c, n)
	}
	if a.Envelope == nil && !a.Lost && a.Status == 0 {
		a.Envelope = sells(c)
	}
	_ = json.NewEncoder(w).Encode(a)
}

// sent returns the payloads of an operation's calls.
func (s *shop) sent(operation string) (payloads []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.Operation == operation {
			payloads = append(payloads, string(c.Payload))
		}
	}
	return payloads
}

// open opens the shop's page. Pictures of other hosts cannot be had, unless somebody will look at the page.
func (s *shop) open(t testing.TB, browser browsertest.Browser, size browsertest.Size) *browsertest.Page {
	t.Helper()
	if os.Getenv("TICKETING_TEST_PICTURES") == "" {
		return browser.Open(t, s.url, size)
	}
	p := browser.Open(t, s.url+"/page.css", size)
	pictures(t, p)
	p.Do(chromedp.Navigate(s.url))
	return p
}

// pictures gives a page pictures of other hosts.
func pictures(t testing.TB, p *browsertest.Page) {
	t.Helper()
	var picture bytes.Buffer
	drawn := image.NewRGBA(image.Rect(0, 0, 320, 200))
	for y := range 200 {
		for x := range 320 {
			drawn.Set(x, y, color.RGBA{uint8(40 + x/3), uint8(30 + y/3), uint8(120 + (x+y)/5), 255})
		}
	}
	is.New(t).NoErr(png.Encode(&picture, drawn))
	paused := chromedp.Events(p.Context(), fetch.RequestPaused)
	go func() {
		for event, err := range paused {
			if err != nil {
				return
			}
			_, _ = chromedp.Call(p.Context(), fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: event.RequestID, ResponseCode: http.StatusOK, Body: picture.Bytes(),
			})
		}
	}()
	_, err := chromedp.Call(p.Context(), fetch.Enable, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{
			URLPattern: "https://cdn.harmattan.example/*", ResourceType: network.ResourceTypeImage,
		}},
	})
	is.New(t).NoErr(err)
}

// wait waits until the widget shows a text.
func wait(p *browsertest.Page, text string) { p.Text(`await shows(` + quoted(text) + `)`) }

// press clicks the button with a name, once it is there.
func press(p *browsertest.Page, name string) { p.Text(`await press(` + quoted(name) + `)`) }

func quoted(text string) string {
	made, _ := json.Marshal(text)
	return string(made)
}

// linesOf returns the lines of a payload.
func linesOf(payload json.RawMessage) []line {
	var read struct{ Lines []line }
	_ = json.Unmarshal(payload, &read)
	return read.Lines
}

// line is a line of a quote or a checkout.
type line struct {
	Tier              string
	Quantity          int
	ExpectedUnitPrice string
}

// script answers the calls of each operation in turn, and those after the last as a shop that sells. So does a zero
// answer.
type script map[string][]answer

func (s script) reply(c call, n int) answer {
	if answers := s[c.Operation]; n < len(answers) {
		return answers[n]
	}
	return answer{}
}

// distinct returns how many different texts there are.
func distinct(texts []string) int {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return len(slices.Compact(texts))
}

// clean checks that the page has asked other hosts for pictures only, and that nothing in it has failed.
func clean(t testing.TB, p *browsertest.Page) {
	t.Helper()
	for _, url := range p.Elsewhere() {
		if !strings.HasPrefix(url, "https://cdn.harmattan.example/") {
			t.Errorf("the page has asked for %s", url)
		}
	}
	if errors := p.Text(`errors.join("; ")`); errors != "" {
		t.Errorf("the page has failed: %s", errors)
	}
}
