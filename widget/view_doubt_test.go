package widget_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// How a purchase ends, or is left, of which nobody knows if it has bought.
func testDoubt(t *testing.T, browser browsertest.Browser) {
	for name, test := range map[string]func(*testing.T, browsertest.Browser){
		"widget is destroyed":        destroyed,
		"proof that nothing is sold": unsold,
		"order is void":              voided,
		"is left":                    leftOrder,
		"sales are paused":           pausedInDoubt,
		"refused without a basket":   refusedWithoutBasket,
		"store is not ours":          foreignStore,
		"change while waiting":       waitingFocus,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}

// An order that arrives after its widget is destroyed is not lost: the next widget asks for it, with the same key.
func destroyed(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	held := make(chan struct{})
	s := newShop(t, page{}, func(c call, n int) answer {
		if c.Operation == "checkout.create" && n == 0 {
			<-held
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "Completing your order")
	before := p.Text(`(mounted.destroy(), answered)`)
	close(held)
	p.Text(`await until(() => answered > ` + before + `)`)
	p.Text(`(mounted = mount(), 0)`)
	wait(p, "We don't know yet")
	press(p, "Check again")
	wait(p, "Your order is confirmed")
	wait(p, "Eko Convention Centre") // The basket was not lost either.
	is.Equal(len(s.sent("checkout.create")), 2)
	is.Equal(distinct(s.sent("checkout.create")), 1)
	is.Equal(p.Text(`Object.keys(sessionStorage).length`), "0")
	clean(t, p)
}

// The API gives these codes after it has looked for an order of the key. They end a doubt.
func unsold(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	codes := []string{"COMMISSION_RATE_UNAVAILABLE", "CHECKOUT_UNAVAILABLE", "INSUFFICIENT_FLOAT", "INVENTORY_UNAVAILABLE"}
	s := newShop(t, page{}, func(c call, n int) answer {
		switch {
		case c.Operation != "checkout.create":
			return answer{}
		case n%2 == 0:
			return lost()
		}
		return refuse(409, codes[n/2])
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	for range codes {
		press(p, "Buy for")
		press(p, "Check again")
		wait(p, "Nothing was bought")
		is.Equal(p.Text(`$("#svc-email").value`), buyer)
	}
}

// An order that was taken back since is the end of the purchase, and shows no tickets.
func voided(t *testing.T, browser browsertest.Browser) {
	for status, title := range map[string]string{
		"CANCELLED": "Your order was cancelled", "REFUNDED": "Your order was refunded",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := newShop(t, page{}, func(c call, n int) answer {
				switch {
				case c.Operation != "checkout.create":
					return answer{}
				case n == 0:
					return lost()
				}
				return answer{Envelope: envelope(with(order(c.Payload), "status", status))}
			})
			p := s.openDetails(t, browser, browsertest.Phone)
			press(p, "Buy for")
			press(p, "Check again")
			wait(p, title)
			p.FullPicture("order-" + status)
			is.Equal(p.Text(`$(".code") ?? $(".next")`), "null")
			is.Equal(p.Text(`tree().activeElement.innerText`), title)
			is.Equal(p.Text(`Object.keys(sessionStorage).length`), "0")
		})
	}
}

// A doubt that stays has a reason, a reference, and a way out, which warns. The tickets and the buyer are kept, so the
// same purchase once more is the same order.
func leftOrder(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"checkout.create": {lost(), refuse(402, "PAYMENT_REQUIRED")}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "We don't know yet")
	is.Equal(p.Text(`named("Leave this order") === undefined`), "true")
	press(p, "Check again")
	wait(p, "Leave this order")
	wait(p, "The upstream's own words.")
	wait(p, "Tickets may have been bought.")
	p.FullPicture("leave")
	var sent struct{ IdempotencyKey string }
	is.NoErr(json.Unmarshal([]byte(s.sent("checkout.create")[0]), &sent))
	wait(p, sent.IdempotencyKey)
	browsertest.Axe(t, p)
	press(p, "Leave this order")
	wait(p, "₦30,000.50")
	p.Do(chromedp.Navigate(s.url))
	wait(p, "₦30,000.50") // It is left for good.
	press(p, "Continue")
	wait(p, "Your details")
	p.Text(`enter("#svc-email", "` + buyer + `")`)
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
	is.Equal(distinct(s.sent("checkout.create")), 1)
}

// A missing verification pauses the sales, and settles no doubt.
func pausedInDoubt(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	refused := refuse(409, "COMPANY_VERIFICATION_REQUIRED")
	s := newShop(t, page{}, script{"checkout.create": {lost(), refused}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	press(p, "Check again")
	wait(p, "Sales are paused for a short time.")
	wait(p, "We don't know yet")
	press(p, "Leave this order")
	wait(p, "Sales are paused for a short time.")
	press(p, "Continue")
	wait(p, "Your details")
	is.Equal(p.Text(`named("Buy") === undefined`), "true")
	is.Equal(p.Text(`$("#svc-email").value`), buyer)
}

// A refusal always says that nothing was bought: also where there is no basket to return to, and where the tickets
// cannot be priced again.
func refusedWithoutBasket(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	var refused atomic.Bool
	s := newShop(t, page{}, func(c call, n int) answer {
		switch {
		case c.Operation == "checkout.create" && n%2 == 0:
			return lost()
		case c.Operation == "checkout.create":
			refused.Store(true)
			return refuse(409, "INVENTORY_UNAVAILABLE")
		case c.Operation == "pricing.quote" && refused.CompareAndSwap(true, false):
			return refuse(404, "NOT_FOUND")
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	const focused = `tree().activeElement.innerText.split("\n")[0]`
	press(p, "Buy for")
	press(p, "Check again")
	wait(p, "Choose tickets")
	wait(p, "These tickets are no longer available at this price.")
	is.Equal(p.Text(focused), "Nothing was bought")
	press(p, "Continue")
	wait(p, "Your details")
	press(p, "Buy for")
	wait(p, "We don't know yet")
	p.Text(`Object.keys(sessionStorage).forEach(key => key.endsWith("basket") && sessionStorage.removeItem(key))`)
	p.Do(chromedp.Navigate(s.url))
	press(p, "Check again")
	wait(p, "Comedy at the Marina")
	is.Equal(p.Text(focused), "Nothing was bought")
}

// What another version has stored, or nobody, is removed.
func foreignStore(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"checkout.create": {lost()}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	wait(p, "We don't know yet")
	stored := p.Text(`JSON.stringify(sessionStorage)`)
	var kept map[string]string
	is.NoErr(json.Unmarshal([]byte(stored), &kept))
	is.Equal(len(kept), 2)
	for _, change := range []string{
		`v => null`, `v => []`, `v => ({})`, `v => 7`, `v => ({ ...v, more: 1 })`,
		`v => v.seed ? { ...v, lines: [{ tier: "VIP", quantity: "1" }] } : { ...v, payload: { ...v.payload, lines: 1 } }`,
		`v => v.seed ? { ...v, event: { ...v.event, schedule: {} } } : { ...v, quote: { ...v.quote, total: "1.00" } }`,
		`v => v.seed ? { seed: v.seed, event: v.event } : { payload: v.payload }`,
	} {
		p.Text(fmt.Sprintf(`Object.entries(%s).forEach(([name, text]) =>
			sessionStorage.setItem(name, JSON.stringify((%s)(JSON.parse(text)))))`, stored, change))
		p.Do(chromedp.Navigate(s.url))
		wait(p, "Comedy at the Marina")
		is.Equal(p.Text(`Object.keys(sessionStorage).length + errors.join()`), "0")
	}
	p.Text(`Object.entries(` + stored + `).forEach(([name, text]) => sessionStorage.setItem(name, text))`)
	p.Do(chromedp.Navigate(s.url))
	wait(p, "We don't know yet") // What is ours is not.
}

// The focus does not leave with the button that has it, when a purchase is sent again by itself.
func waitingFocus(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"checkout.create": {busyFor(30), busyFor(600)}}.reply)
	p := s.openDetails(t, browser, browsertest.Phone)
	press(p, "Buy for")
	p.Text(`await until(() => named("Change tickets")).then(b => b.focus())`)
	wait(p, "Please try again in 10 minutes.") // and the button, at once
	is.Equal(p.Text(`tree().activeElement?.innerText`), "Completing your order")
	press(p, "Try again")
	wait(p, "Your order is confirmed")
}
