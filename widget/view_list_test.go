package widget_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

func testList(t *testing.T, browser browsertest.Browser) {
	for name, test := range map[string]func(*testing.T, browsertest.Browser){
		"shows more events": moreEvents,
		"loads":             loading,
		"is empty":          emptyList,
		"fails":             failingList,
		"waits":             busyList,
		"is offline":        offlineList,
		"needs no network":  offlineShop,
		"keeps the focus":   refreshedFocus,
		"waits long":        longWait,
		"is refreshed":      refreshedList,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}

// The list grows by the next page, without an event twice, and the focus goes to the first new event. A cursor that is
// refused begins the list again.
func moreEvents(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	const other = "6f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c"
	s := newShop(t, page{Mount: object{"initialQuery": object{"limit": 2}}}, script{"events.list": {
		{Envelope: eventPage("next", event(jazz, "Lagos Jazz Night"))},
		{Envelope: eventPage("third", event(jazz, "Lagos Jazz Night"), event(other, "Comedy at the Marina"))},
		refuse(400, "INVALID_CURSOR"),
		{Envelope: eventPage(nil, event(other, "Comedy at the Marina"))},
	}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "Lagos Jazz Night")
	p.Text(`named("Show more events").focus()`)
	press(p, "Show more events")
	wait(p, "Comedy at the Marina")
	is.Equal(p.Text(`$$(".card h3").map(e => e.innerText)`), "Lagos Jazz Night,Comedy at the Marina")
	is.Equal(p.Text(`tree().activeElement.innerText`), "Comedy at the Marina")
	is.Equal(p.Text(`$("[role=status]").textContent`), "More events: 1")
	press(p, "Show more events")
	p.Text(`await until(() => $$(".card").length === 1)`)
	is.Equal(s.sent("events.list"), []string{
		`{"limit":2}`, `{"limit":2,"cursor":"next"}`, `{"limit":2,"cursor":"third"}`, `{"limit":2}`,
	})
	clean(t, p)
}

// While the list loads it says so, and shows where events will be. The foot comes with them.
func loading(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	open := make(chan struct{})
	s := newShop(t, page{Mount: object{"brand": brand()}}, func(call, int) answer {
		<-open
		return answer{}
	})
	p := s.open(t, browser, browsertest.Phone)
	p.Text(`await until(() => $(".skeleton"))`)
	is.Equal(p.Text(`$(".view").ariaBusy + " " + $$(".skeleton .card").length`), "true 4")
	is.Equal(p.Text(`getComputedStyle($("footer")).visibility`), "hidden")
	p.Picture("loading")
	close(open)
	wait(p, "Lagos Jazz Night")
	is.Equal(p.Text(`$(".view").ariaBusy + " " + $(".skeleton")`), "null null")
	is.Equal(p.Text(`getComputedStyle($("footer")).visibility`), "visible")
}

func emptyList(t *testing.T, browser browsertest.Browser) {
	s := newShop(t, page{}, script{"events.list": {{Envelope: eventPage(nil)}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "No events on sale")
	wait(p, "Please come back later.")
}

// A list without an answer is asked for three times, and then by the button. The failure has its request id.
func failingList(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	failed := refuse(502, "INVALID_UPSTREAM_RESPONSE")
	s := newShop(t, page{}, script{"events.list": {lost(), failed, failed, {}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "The events couldn't be loaded")
	wait(p, "The shop didn't answer.")
	wait(p, "For support: req-7f3a")
	is.Equal(len(s.sent("events.list")), 3)
	press(p, "Try again")
	wait(p, "Lagos Jazz Night")
}

// After "too many requests" the list waits as long as it has to, shows how long, and then goes on by itself.
func busyList(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	busy := refuse(429, "RATE_LIMITED")
	busy.RetryAfter = new(20)
	s := newShop(t, page{}, script{"events.list": {busy}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	p.Text(`window.asked = performance.now()`)
	p.Text(`await until(() => /Trying again in \d+ s/.test(seen()))`)
	is.Equal(len(s.sent("events.list")), 1)
	wait(p, "Lagos Jazz Night")
	is.Equal(len(s.sent("events.list")), 2)
	is.Equal(p.Text(`performance.now() - asked > 17000`), "true")
}

// whileOffline answers nothing while the shop cannot be reached.
func whileOffline(offline *atomic.Bool) func(call, int) answer {
	return func(call, int) answer { return answer{Lost: offline.Load()} }
}

// Without a connection the widget says so, at its head, and goes on by itself when the connection is back.
func offlineList(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	var offline atomic.Bool
	s := newShop(t, page{}, whileOffline(&offline))
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "Lagos Jazz Night")
	offline.Store(true)
	online(p, false)
	wait(p, "You're offline.")
	press(p, "Lagos Jazz Night")
	p.Picture("offline")
	is.Equal(p.Text(`$(".offline").getBoundingClientRect().bottom <= $(".view").getBoundingClientRect().top`), "true")
	offline.Store(false)
	online(p, true)
	wait(p, "General admission")
	is.Equal(strings.Contains(p.Text(`seen()`), "offline"), false)
}

// A shop on the same machine answers a browser that has no connection. All works there, up to the order.
func offlineShop(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{Offline: true}, nil)
	p := s.openDetails(t, browser, browsertest.Phone)
	is.Equal(strings.Contains(p.Text(`seen()`), "offline"), false)
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
	is.Equal(len(s.sent("checkout.create")), 1)
	clean(t, p)
}

// After a refresh the focus is where it was: on the card of the same event, or at the title if that has gone.
func refreshedFocus(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	other := eventPage(nil, event(jazz, "Another Night"))
	s := newShop(t, page{}, script{"events.list": {{}, {}, {Envelope: other}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "Comedy at the Marina")
	p.Text(`named("Comedy at the Marina").focus()`)
	for _, focused := range []string{"Comedy at the Marina", "Events"} {
		p.Text(`await mounted.refresh()`)
		is.Equal(p.Text(`tree().activeElement?.innerText`), focused)
	}
}

// A wait that is too long to watch is said in words, and the button is there at once.
func longWait(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"events.list": {busyFor(61), busyFor(9000), {}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "The shop is busy. Please try again in 2 minutes.")
	press(p, "Try again")
	wait(p, "The shop is busy. Please try again in 3 hours.")
	is.Equal(len(s.sent("events.list")), 2)
	press(p, "Try again")
	wait(p, "Lagos Jazz Night")
}

// online makes the browser believe in its connection, or not.
func online(p *browsertest.Page, is bool) {
	state := map[bool]string{true: "online", false: "offline"}[is]
	p.Text(`(Object.defineProperty(navigator, "onLine", { value: ` + map[bool]string{true: "true", false: "false"}[is] +
		`, configurable: true }), dispatchEvent(new Event("` + state + `")))`)
}

// refresh loads the list once more, and keeps the events until the answer is there. After destroy nothing is left, and
// both may be called again.
func refreshedList(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"events.list": {{}, {Envelope: eventPage(nil, event(jazz, "Another Night"))}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "Lagos Jazz Night")
	p.Text(`await mounted.refresh()`)
	is.Equal(p.Text(`$$(".card h3").map(e => e.innerText)`), "Another Night")
	p.Text(`(mounted.destroy(), mounted.destroy(), await mounted.refresh())`)
	is.Equal(p.Text(`document.querySelector("#shop").innerHTML`), "")
	is.Equal(len(s.sent("events.list")), 2)
	p.Do(chromedp.Navigate(s.url))
	wait(p, "Lagos Jazz Night")
	clean(t, p)
}
