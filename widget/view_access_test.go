package widget_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// Every state fits its window and breaks no rule of axe-core: on a phone of 320 pixels, which is also a desk at 400 %,
// in the dark and from right to left, and on a desk in the light and from left to right.
func testAccess(t *testing.T, browser browsertest.Browser) {
	for name, look := range map[string]struct {
		dir  string
		size browsertest.Size
		dark bool
	}{
		"phone-dark": {"rtl", browsertest.Size{Width: 320, Height: 700}, true},
		"desk":       {"ltr", browsertest.Desktop, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, page{Dir: look.dir, Mount: object{"brand": brand()}}, script{
				"events.list": {{Envelope: eventPage("next", event(jazz, "Lagos Jazz Night"),
					event("4f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c", "ليلة الطبول في لاغوس"),
					event("5f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c", "Ọ̀ṣun Festival of Drums"))}},
				"events.inventory": {refuse(502, "INVALID_UPSTREAM_RESPONSE"), lost(), lost()},
				"checkout.create":  {refuse(409, "INSUFFICIENT_FLOAT"), lost()},
			}.reply)
			p := s.open(t, browser, look.size)
			p.Media(browsertest.Media{Dark: look.dark})
			check := func(state string) {
				t.Helper()
				p.Fits()
				p.FullPicture(name + "-" + state)
				browsertest.Axe(t, p)
			}
			wait(p, "Lagos Jazz Night")
			check("1-list")
			press(p, "Lagos Jazz Night")
			wait(p, "The tickets couldn't be loaded")
			check("2-failed")
			press(p, "Try again")
			wait(p, "Only 7 left")
			press(p, "Add one ticket: VIP")
			press(p, "Add one ticket: VIP")
			press(p, "Add one ticket: Student")
			wait(p, "₦50,001")
			check("3-event")
			press(p, "Continue")
			press(p, "Buy for")
			wait(p, "Enter your email address.")
			check("4-details")
			p.Text(`enter("#svc-email", "ada@example.com")`)
			press(p, "Buy for")
			wait(p, "Nothing was bought")
			check("5-refused")
			press(p, "Buy for")
			wait(p, "We don't know yet")
			check("6-doubt")
			press(p, "Check again")
			wait(p, "Your order is confirmed")
			check("7-success")
		})
	}
}

// A purchase needs no more than Tab, Enter and the keys of letters. The focus is visible at every step, and goes to the
// heading of each view.
func testKeyboard(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.open(t, browser, browsertest.Desktop)
	wait(p, "Lagos Jazz Night")
	tab := func(name string) {
		t.Helper()
		for range 30 {
			p.Do(chromedp.KeyEvent(kb.Tab))
			const focused = `(e => e && (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText))(tree().activeElement)`
			if p.Text(focused) != name {
				continue
			}
			const visible = `["", "::after"].some(part => getComputedStyle(tree().activeElement, part).outlineStyle !== "none")`
			is.Equal(p.Text(visible), "true")
			const within = `(r => r.top >= 0 && r.bottom < innerHeight + 1)(tree().activeElement.getBoundingClientRect())`
			p.Wait(within) // A browser may scroll in several frames, to whole pixels.
			return
		}
		t.Fatalf("Tab does not reach %s", name)
	}
	heading := func(text string) {
		t.Helper()
		p.Text(`await until(() => tree().activeElement?.innerText === ` + quoted(text) + `)`)
	}
	tab("Lagos Jazz Night")
	p.Picture("keyboard-list")
	p.Do(chromedp.KeyEvent(kb.Enter))
	heading("Lagos Jazz Night")
	wait(p, "Only 7 left")
	tab("Add one ticket: VIP")
	p.Picture("keyboard-event")
	p.Do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(" "))
	tab("Continue")
	p.Do(chromedp.KeyEvent(kb.Enter)) // Perhaps before the price is there.
	heading("Your details")
	tab("Email")
	p.Do(chromedp.KeyEvent("ada@example.com"))
	tab("Full name (optional)")
	p.Do(chromedp.KeyEvent("Ada"), chromedp.KeyEvent(kb.Enter))
	heading("Your order is confirmed")
	is.Equal(len(s.sent("checkout.create")), 1)
	tab("All events")
	p.Do(chromedp.KeyEvent(kb.Enter))
	heading("Lagos Jazz Night")
}
