package widget_test

import (
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// buyer is who buys in these tests.
const buyer = "ada@example.com"

// openDetails opens the shop, chooses two tickets, and enters the buyer.
func (s *shop) openDetails(t testing.TB, browser browsertest.Browser, size browsertest.Size) *browsertest.Page {
	t.Helper()
	p := s.openEvent(t, browser, size)
	choose(p)
	return p
}

// choose chooses two tickets of the event that is shown, and enters the buyer.
func choose(p *browsertest.Page) {
	press(p, "Add one ticket: VIP")
	press(p, "Add one ticket: General admission")
	wait(p, "₦30,000.50")
	press(p, "Continue")
	wait(p, "Your details")
	p.Text(`enter("#svc-email", "` + buyer + `")`)
}

// doubtful are answers after which nothing proves what became of a purchase.
func doubtful() map[string]answer {
	one := order(json.RawMessage(`{"lines":[{"tier":"VIP","quantity":1}]}`))
	return map[string]answer{
		"no answer":       lost(),
		"another order":   {Envelope: envelope(with(one, "eventId", "4f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c"))},
		"a private field": {Envelope: envelope(with(one, "floatDebited", naira(1)))},
		"500":             refuse(500, "INTERNAL_ERROR"),
		"502":             refuse(502, "INVALID_UPSTREAM_RESPONSE"),
		"not JSON":        refuse(403, "PROXY_RESPONSE_NOT_JSON"),
		"no code":         refuse(400, "REQUEST_FAILED"),
	}
}

func with(of object, name string, value any) object {
	of = maps.Clone(of)
	of[name] = value
	return of
}

func testPurchase(t *testing.T, browser browsertest.Browser) {
	// Whatever becomes of the first answers, the purchase is one: every attempt has the same key and the same body.
	type row struct {
		checkout []answer
		attempts int
		act      func(*browsertest.Page, *shop)
	}
	again := func(p *browsertest.Page, _ *shop) { press(p, "Check again") }
	rows := map[string]row{
		"double click": {attempts: 1, act: func(*browsertest.Page, *shop) {}},
		"conflict while it is processed": {
			[]answer{refuse(409, "CONFLICT"), refuse(409, "CONFLICT")}, 3, func(*browsertest.Page, *shop) {},
		},
		"conflict that stays, then the order": {
			slices.Repeat([]answer{refuse(409, "CONFLICT")}, 5), 6, again,
		},
		"a refusal after a doubt settles nothing": {
			[]answer{
				lost(), refuse(404, "NOT_FOUND"), refuse(409, "COMPANY_VERIFICATION_REQUIRED"),
				refuse(401, "AUTHENTICATION_FAILED"),
			},
			5, func(p *browsertest.Page, s *shop) {
				for n := 2; n <= 5; n++ {
					again(p, s)
					p.Text(`await until(() => !$("[aria-busy]"))`)
				}
			},
		},
		"reload in doubt": {[]answer{lost(), refuse(404, "NOT_FOUND")}, 3, func(p *browsertest.Page, s *shop) {
			wait(p, "We don't know yet")
			p.Do(chromedp.Navigate(s.url))
			wait(p, "We don't know yet")
			again(p, s)
			p.Text(`await until(() => answered === 1 && !$("[aria-busy]"))`)
			again(p, s)
		}},
		"too many requests": {[]answer{busyFor(15), busyFor(15)}, 3, func(p *browsertest.Page, _ *shop) {
			p.Text(`await until(() => /Trying again in \d+ s/.test(seen()))`)
		}},
	}
	for name, test := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := newShop(t, page{}, script{"checkout.create": test.checkout}.reply)
			p := s.openDetails(t, browser, browsertest.Phone)
			p.Text(`(b => (b.click(), b.click(), b.form && b.form.requestSubmit()))(named("Buy for"))`)
			test.act(p, s)
			wait(p, "Your order is confirmed")
			sent := s.sent("checkout.create")
			is.Equal(len(sent), test.attempts)
			is.Equal(distinct(sent), 1)
			// What is kept ends with the order.
			is.Equal(p.Text(`Object.keys(sessionStorage).length`), "0")
			p.Do(chromedp.Navigate(s.url))
			wait(p, "Comedy at the Marina")
		})
	}
	t.Run("keeps the purchase before it is sent", func(t *testing.T) { t.Parallel(); storedFirst(t, browser) })
	t.Run("doubt", func(t *testing.T) { t.Parallel(); doubt(t, browser) })
	t.Run("two tabs", func(t *testing.T) { t.Parallel(); twoTabs(t, browser) })
	t.Run("two tabs in doubt", func(t *testing.T) { t.Parallel(); twoTabsInDoubt(t, browser) })
	t.Run("back", func(t *testing.T) { t.Parallel(); back(t, browser) })
	t.Run("offline", func(t *testing.T) { t.Parallel(); offlinePurchase(t, browser) })
}

// After an answer that proves nothing the buyer can only check again, with the same key and body.
func doubt(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	answers := doubtful()
	names := slices.Sorted(maps.Keys(answers))
	s := newShop(t, page{}, func(c call, n int) answer {
		if c.Operation == "checkout.create" && n%2 == 0 {
			return answers[names[n/2]]
		}
		return answer{}
	})
	p := s.openEvent(t, browser, browsertest.Phone)
	for i, name := range names {
		t.Log(name)
		if i > 0 {
			press(p, "All events")
			press(p, "Lagos Jazz Night")
		}
		choose(p)
		press(p, "Buy for")
		wait(p, "We don't know yet if your order went through")
		is.Equal(p.Text(`$$("button").map(b => b.innerText)`), "Check again") // and nothing else
		is.Equal(p.Text(`$("input")`), "null")
		press(p, "Check again")
		wait(p, "Your order is confirmed")
		is.Equal(len(s.sent("checkout.create")), 2*(i+1))
		is.Equal(distinct(s.sent("checkout.create")), i+1) // Each purchase has a key of its own.
	}
	clean(t, p)
}

// busyFor refuses for now, for seconds.
func busyFor(seconds int) answer {
	busy := refuse(429, "RATE_LIMITED")
	busy.RetryAfter = &seconds
	return busy
}

// The key, the body and the agreed price are stored before the purchase is sent. A reload while it is on its way is in
// doubt, and continues it.
func storedFirst(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	stored := make(chan string, 2)
	var p *browsertest.Page
	held := make(chan struct{})
	s := newShop(t, page{}, func(c call, n int) answer {
		if c.Operation == "checkout.create" && n == 0 {
			stored <- string(c.Payload)
			<-held
		}
		return answer{}
	})
	t.Cleanup(func() { close(held) })
	p = s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	sent := <-stored
	var first struct {
		IdempotencyKey string
		Buyer          struct{ Email string }
	}
	is.NoErr(json.Unmarshal([]byte(sent), &first))
	is.Equal(first.Buyer.Email, buyer)
	is.True(len(first.IdempotencyKey) >= 32)
	is.Equal(linesOf(json.RawMessage(sent)), []line{{"GENERAL_ADMISSION", 1, "5000.00"}, {"VIP", 1, "25000.50"}})
	is.Equal(p.Text(`JSON.stringify(sessionStorage).includes(`+quoted(first.IdempotencyKey)+`)`), "true")
	p.Picture("buying")
	p.Do(chromedp.Navigate(s.url))
	wait(p, "We don't know yet")
	is.Equal(len(s.sent("checkout.create")), 1) // Nothing is bought without a click.
	press(p, "Check again")
	wait(p, "Your order is confirmed")
	is.Equal(s.sent("checkout.create"), []string{sent, sent})
}

// copyTab opens a copy of a tab: the browser copies its sessionStorage.
func copyTab(t *testing.T, browser browsertest.Browser, s *shop, p *browsertest.Page) *browsertest.Page {
	t.Helper()
	kept := p.Text(`JSON.stringify(sessionStorage)`)
	other := s.open(t, browser, browsertest.Phone)
	other.Text(`Object.assign(sessionStorage, ` + kept + `)`)
	other.Do(chromedp.Navigate(s.url))
	return other
}

// The same basket for the same buyer in a tab and its copy is one order.
func twoTabs(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openDetails(t, browser, browsertest.Phone)
	other := copyTab(t, browser, s, p)
	press(other, "Continue")
	wait(other, "Your details")
	other.Text(`enter("#svc-email", "` + buyer + `")`)
	for _, tab := range []*browsertest.Page{p, other} {
		press(tab, "Buy for")
		wait(tab, "Your order is confirmed")
	}
	is.Equal(len(s.sent("checkout.create")), 2)
	is.Equal(distinct(s.sent("checkout.create")), 1)
}

func twoTabsInDoubt(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"checkout.create": {lost()}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "We don't know yet")
	other := copyTab(t, browser, s, p)
	for _, tab := range []*browsertest.Page{p, other} {
		press(tab, "Check again")
		wait(tab, "Your order is confirmed")
	}
	is.Equal(len(s.sent("checkout.create")), 3)
	is.Equal(distinct(s.sent("checkout.create")), 1)
}

// The way back to the page after the order sends nothing.
func back(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
	p.Do(chromedp.Navigate(s.url + "/page.css"))
	p.Do(chromedp.Navigate(s.url))
	p.Text(`await until(() => /Events/.test(seen()))`)
	is.Equal(len(s.sent("checkout.create")), 1)
}

// Without a connection nothing is sent, so nothing is in doubt.
func offlinePurchase(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	var offline atomic.Bool
	s := newShop(t, page{}, whileOffline(&offline))
	p := s.openDetails(t, browser, browsertest.Phone)
	offline.Store(true)
	online(p, false)
	press(p, "Buy for")
	wait(p, "You're offline.")
	is.Equal(p.Text(`$("#svc-email").value`), buyer)
	is.Equal(len(s.sent("checkout.create")), 0)
	offline.Store(false)
	online(p, true)
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
}

// A first attempt that is refused has bought nothing. The buyer sees why, without a private reason of the company, and
// keeps what was entered.
func testRefusals(t *testing.T, browser browsertest.Browser) {
	t.Run("of the first attempt", func(t *testing.T) { t.Parallel(); refusals(t, browser) })
	t.Run("verification", func(t *testing.T) { t.Parallel(); salesPaused(t, browser) })
	t.Run("price changed", func(t *testing.T) { t.Parallel(); priceChanged(t, browser) })
	t.Run("sold in doubt", func(t *testing.T) { t.Parallel(); soldInDoubt(t, browser) })
	t.Run("details refused", func(t *testing.T) { t.Parallel(); detailsRefused(t, browser) })
}

func refusals(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	const later = "Tickets can't be sold right now."
	tests := []struct {
		status     int
		code, text string
	}{
		{401, "AUTHENTICATION_FAILED", "Your session has ended."},
		{402, "PAYMENT_REQUIRED", "The upstream's own words."}, // which are the hook's,
		{403, "PERMISSION_DENIED", "This page isn't allowed to do that."},
		{404, "NOT_FOUND", "This event is no longer on sale."},
		{409, "INSUFFICIENT_FLOAT", later},
		{403, "MEMBERS_ONLY", "The upstream's own words."}, // a code of the shop's own hook
		{409, "CHECKOUT_UNAVAILABLE", later},
		{401, "AUTHENTICATION_FAILED", "Your session has ended."},
		{409, "COMMISSION_RATE_UNAVAILABLE", later},
	}
	s := newShop(t, page{}, func(c call, n int) answer {
		if c.Operation == "checkout.create" && n < len(tests) {
			return refuse(tests[n].status, tests[n].code)
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	for _, test := range tests {
		press(p, "Buy for")
		p.Text(`await until(() => $(".notice")?.innerText.includes(` + quoted(test.text) + `))`)
		wait(p, "Nothing was bought")
		wait(p, "For support: req-7f3a")
		is.Equal(p.Text(`tree().activeElement.matches(".notice")`), "true")
		is.Equal(p.Text(`$("#svc-email").value`), buyer)
	}
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
	is.Equal(len(s.sent("checkout.create")), len(tests)+1)
	is.Equal(distinct(s.sent("checkout.create")), 1) // A shop may have collected money for the key.
}

// Without the company's verification buying is off, and the basket stays. It is on again after a refresh.
func salesPaused(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"checkout.create": {refuse(409, "COMPANY_VERIFICATION_REQUIRED")}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	const paused = "Sales are paused for a short time."
	wait(p, paused)
	wait(p, "Nothing was bought.")
	p.FullPicture("paused")
	is.Equal(p.Text(`named("Buy") === undefined`), "true")
	press(p, "Change tickets")
	wait(p, "₦30,000.50")
	wait(p, paused)
	press(p, "Continue")
	wait(p, "Your details")
	wait(p, paused)
	is.Equal(p.Text(`named("Buy") === undefined`), "true")
	press(p, "Change tickets")
	wait(p, paused)
	p.Text(`await mounted.refresh()`)
	is.Equal(p.Text(`seen().includes("paused")`), "false")
	press(p, "Continue")
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
}

// After a change of the price nothing is bought until the buyer has seen both prices and agreed.
func priceChanged(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	dearer := map[string]int{"GENERAL_ADMISSION": 500000, "VIP": 3000000}
	var refused atomic.Bool
	s := newShop(t, page{}, func(c call, n int) answer {
		switch {
		case c.Operation == "checkout.create" && n == 0:
			refused.Store(true)
			return refuse(409, "INVENTORY_UNAVAILABLE")
		case c.Operation == "pricing.quote" && refused.Load():
			return answer{Envelope: envelope(quote(c.Payload, dearer))}
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "The price has changed")
	p.FullPicture("price-changed")
	is.Equal(p.Text(`$$("dd").map(e => e.textContent.replaceAll(/\s+/g, " ").trim())`),
		"₦5,000,was ₦25,000.50 ₦30,000,was ₦30,000.50 ₦35,000")
	is.Equal(p.Text(`$$("s").length`), "2")
	is.Equal(len(s.sent("checkout.create")), 1)
	press(p, "Agree and buy for ₦35,000")
	wait(p, "Your order is confirmed")
	sent := s.sent("checkout.create")
	is.Equal(distinct(sent), 2)
	is.Equal(linesOf(json.RawMessage(sent[1]))[1].ExpectedUnitPrice, "30000.00")
}

// INVENTORY_UNAVAILABLE settles a doubt: the API looks for an order of the key first. What is left can be bought.
func soldInDoubt(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	var sold atomic.Bool
	s := newShop(t, page{}, func(c call, n int) answer {
		switch {
		case c.Operation == "checkout.create" && n == 0:
			return lost()
		case c.Operation == "checkout.create":
			sold.Store(true)
			return refuse(409, "INVENTORY_UNAVAILABLE")
		case c.Operation == "pricing.quote" && sold.Load() && len(linesOf(c.Payload)) > 1:
			return refuse(409, "PRICING_UNAVAILABLE")
		case c.Operation == "events.inventory" && sold.Load():
			return answer{Envelope: envelope([]object{tier("VIP", "AVAILABLE", 4, 2500050)})}
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	press(p, "Check again")
	wait(p, "General admission: was 1, now 0")
	is.Equal(p.Text(`JSON.stringify(sessionStorage).includes("`+buyer+`")`), "false")
	wait(p, "Continue")
}

// An entry that the API refuses is shown where it was made.
func detailsRefused(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	refused := refuse(400, "INVALID_REQUEST")
	refused.Message = "payload.buyer.email: must be one address"
	s := newShop(t, page{}, script{"checkout.create": {refused}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "The shop didn't accept these details.")
	const state = `$("#svc-email").ariaInvalid + " " + $("#svc-email-error").innerText`
	is.Equal(p.Text(state), "true Please check this entry.")
}
