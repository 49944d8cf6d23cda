package widget_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// Entries are checked as they are left, and all at the end. A list of what is wrong gets the focus and leads to each.
func testDetails(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openDetails(t, browser, browsertest.Phone)
	is.Equal(p.Text(`$$(".field input").map(e => e.labels[0].innerText + "=" + e.autocomplete + "=" + e.type).join()`),
		"Email=email=email,Full name (optional)=name=text,Phone (optional)=tel=tel")
	const state = `$("#svc-email").ariaInvalid + " " + $("#svc-email-error").innerText`
	for _, test := range []struct{ entered, state string }{
		{"ada", "true Enter an email address such as name@example.com."},
		{"ada@example", "true Enter an email address such as name@example.com."},
		{"a b@example.com", "true Enter an email address such as name@example.com."},
		{strings.Repeat("a", 320) + "@example.com", "true Use at most 320 characters."},
		{"  ada@example.com ", "null "},
		{"", "true Enter your email address."},
	} {
		p.Text(`enter("#svc-email", ` + quoted(test.entered) + `)`)
		is.Equal(p.Text(state), test.state)
	}
	p.Text(`enter("#svc-phone", "` + strings.Repeat("1", 51) + `")`)
	press(p, "Buy for")
	is.Equal(p.Text(`tree().activeElement.innerText.replaceAll(/\n+/g, "|")`),
		"Please check your details|Email: Enter your email address.|Phone: Use at most 50 characters.")
	const described = `$("#svc-email").getAttribute("aria-describedby").split(" ").map(id => $("#" + id).innerText)`
	is.Equal(p.Text(described+`.join("|")`),
		"Your tickets are sent to this address.|Enter your email address.")
	press(p, "Phone: Use")
	is.Equal(p.Text(`tree().activeElement.id`), "svc-phone")
	is.Equal(len(s.sent("checkout.create")), 0)
	p.Text(`(enter("#svc-phone", " +234 1 "), enter("#svc-fullname", " Adá Òjó "))`)
	p.Text(`enter("#svc-email", " ADA@Example.com ")`)
	press(p, "Buy for")
	wait(p, "Your tickets are on their way to ada@example.com.")
	is.True(strings.Contains(s.sent("checkout.create")[0],
		`"buyer":{"email":"ada@example.com","fullname":"Adá Òjó","phone":"+234 1"}`))
}

// What was entered outlives a refresh, which moves no focus, a change of the tickets, and a new price.
func testEntries(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	dearer := map[string]int{"GENERAL_ADMISSION": 600000, "VIP": 2500050}
	var risen atomic.Bool
	s := newShop(t, page{}, func(c call, _ int) answer {
		if c.Operation == "pricing.quote" && risen.Load() {
			return answer{Envelope: envelope(quote(c.Payload, dearer))}
		}
		return answer{}
	})
	p := s.openDetails(t, browser, browsertest.Phone)
	const entries = `$$(".field input").map(e => e.value).join()`
	typed := func(selector, text string) {
		p.Text(`$("` + selector + `").focus()`)
		p.Do(chromedp.KeyEvent(text))
	}
	typed("#svc-fullname", "Ada")
	p.Text(`await mounted.refresh()`)
	is.Equal(p.Text(`tree().activeElement.id + " " + `+entries), "svc-fullname "+buyer+",Ada,")
	typed("#svc-phone", "1")
	press(p, "Change tickets")
	wait(p, "Choose tickets")
	wait(p, "₦30,000.50")
	press(p, "Continue")
	wait(p, "Your details")
	is.Equal(p.Text(entries), buyer+",Ada,1")
	typed("#svc-phone", "2")
	risen.Store(true)
	p.Text(`await mounted.refresh()`)
	wait(p, "The price has changed")
	is.Equal(p.Text(entries), buyer+",Ada,12")
}
