package console_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// slowly serves a page of a handler in two parts, the second of them when rest is closed. The first ends with a text.
type slowly struct {
	http.Handler

	path, until string
	rest        chan struct{}
	cut         bool // The second part never arrives.
}

func (s *slowly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.path {
		s.Handler.ServeHTTP(w, r)
		return
	}
	r.Header.Del("Accept-Encoding")
	whole := httptest.NewRecorder()
	s.Handler.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	first, second, _ := bytes.Cut(whole.Body.Bytes(), []byte(s.until))
	_, _ = w.Write(append(first, s.until...))
	_ = http.NewResponseController(w).Flush()
	<-s.rest
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(second)
}

// TestBarIsShownFirstAndTheRestWhole opens pages of which half has arrived: the bar at the top is shown, and the
// navigation and the content are not, until all of it has arrived. What was cut off is shown, too. A field that gets
// the focus has it then.
func TestBarIsShownFirstAndTheRestWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	const visible = `document.querySelector("main")?.checkVisibility() + ""`
	for _, page := range []struct {
		name, path, until string
		cut               bool
		focus             string // the field that has the focus at last; empty: none
	}{
		{name: "list", path: "/members", until: "</thead>"},
		{name: "cut list", path: "/members", until: "</thead>", cut: true},
		{name: "sign-in", path: "/sign-in", until: "</form>", focus: "email"},
	} {
		t.Run(page.name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newShop(t)
			path := page.path
			if page.focus == "" {
				path = "/business/" + s.company.String() + page.path
			}
			held := &slowly{Handler: s.handler, path: path, until: page.until, rest: make(chan struct{}), cut: page.cut}
			s.server.Config.Handler = held
			p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Desktop)
			if page.focus != "" {
				p.Text(`(() => { document.querySelector("[action='/account/sign-out'] button").click() })()`)
			} else {
				p.Text(`(() => { setTimeout(() => location.assign("` + path + `")) })()`)
			}
			p.Wait(`location.pathname === "` + path + `" && document.querySelector("main") !== null`)
			if page.cut { // It may be shown already.
				close(held.rest)
				p.Wait(visible + ` === "true"`)
				return
			}
			ok.Equal(p.Text(`(() => {
				delete document.documentElement.dataset.late
				return document.querySelector(".brand").checkVisibility() + " " + document.querySelector("main").checkVisibility()
			})()`), "true false")
			close(held.rest)
			p.Wait(visible + ` === "true"`)
			if page.focus != "" {
				p.Wait(`document.activeElement.name === "` + page.focus + `"`)
			} else {
				ok.Equal(p.Text(`document.querySelector(".menu").checkVisibility() + ""`), "true")
			}
		})
	}
}

// TestPageIsShownWithoutItsScript opens a page whose scripts fail to arrive: what the page hides until it is whole is
// shown, and its form works.
func TestPageIsShownWithoutItsScript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	s := newShop(t)
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".js") {
			panic(http.ErrAbortHandler)
		}
		s.handler.ServeHTTP(w, r)
	})
	p := browsertest.New(t).Open(t, s.localhost()+"/sign-in", browsertest.Desktop)
	p.Wait(`document.querySelector("main").checkVisibility()`)
	p.Element(`document.querySelector("#email")`).Type(address(owner))
	p.Element(`document.querySelector("main form .button")`).Click()
	p.Wait(`document.querySelector("main")?.checkVisibility()`)
	p.Wait(`document.querySelector("h1").innerText === "Enter your code"`)
}

// TestPageIsUsedBeforeHtmxArrives chooses a filter on a page whose htmx never comes: the list is one of another page.
func TestPageIsUsedBeforeHtmxArrives(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	handler := s.server.Config.Handler
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/console/htmx.js" {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	})
	orders := "/business/" + s.company.String() + "/orders"
	p := s.open(t, browsertest.New(t), owner, orders, browsertest.Desktop)
	ok.Equal(p.Text(`typeof htmx`), "undefined")
	p.Text(`(() => {
		window.stays = true
		const status = document.querySelector("#filters select[name=status]")
		status.value = "CANCELLED"
		status.dispatchEvent(new Event("change", { bubbles: true }))
	})()`)
	p.Wait(`!window.stays && document.readyState === "complete" && location.search.includes("status=CANCELLED")`)
}

// TestBarNeedsItsOwnStylesheetAlone opens pages whose second stylesheet is late: the bar is shown as it stays, with the
// place of the field, which comes with that stylesheet.
func TestBarNeedsItsOwnStylesheetAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	const boxes = `JSON.stringify([...document.querySelectorAll(
		":is(.bar, .bar *, .top, .top *):not(.find > *)")].map(e => {
		const box = e.getBoundingClientRect(), style = getComputedStyle(e)
		return [e.tagName, box.x, box.y, box.width, box.height, style.color, style.backgroundColor, style.font]
	}))`
	for _, size := range []browsertest.Size{browsertest.Desktop, browsertest.Phone} {
		for _, path := range []string{"", "/sign-in"} {
			t.Run(fmt.Sprint(size.Width, path), func(t *testing.T) {
				t.Parallel()
				ok, s := is.New(t), newShop(t)
				_, err := s.staff.SuspendCompany(t.Context(), s.company)
				ok.NoErr(err)
				path, late, held := path, make(chan struct{}), new(atomic.Bool)
				if path == "" {
					path = "/business/" + s.company.String()
				}
				release := sync.OnceFunc(func() { close(late) })
				t.Cleanup(release)
				handler := s.server.Config.Handler
				s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/console/console.css" {
						if held.Load() {
							<-late
						}
						r.URL.RawQuery = "" // so that the browser does not keep it
					}
					handler.ServeHTTP(w, r)
				})
				var p *browsertest.Page
				if path == "/sign-in" {
					p = browsertest.New(t).Open(t, s.localhost()+"/console/icon.svg", size)
				} else {
					p = s.open(t, browsertest.New(t), owner, "/account", size)
				}
				held.Store(true)
				p.Text(`(() => { setTimeout(() => location.assign("` + path + `")) })()`)
				p.Wait(`location.pathname === "` + path + `" && document.querySelector(".bar, .top")?.checkVisibility() &&
					performance.getEntriesByName("first-contentful-paint").length === 1`)
				before := p.Text(boxes)
				ok.Equal(p.Text(`document.querySelector("main") + ""`), "null")
				release()
				p.Wait(`document.readyState === "complete" && document.querySelector("main").checkVisibility()`)
				ok.Equal(p.Text(boxes), before)
				if path != "/sign-in" { // The field fills the place that was kept for it.
					ok.Equal(p.Text(`(() => {
						const field = document.querySelector("#find"), place = document.querySelector(".find")
						const box = e => JSON.stringify(e.getBoundingClientRect())
						return field.checkVisibility() && box(field) === box(place)
					})()`), "true")
				}
			})
		}
	}
}
