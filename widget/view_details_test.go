package widget_test

import (
	"strings"
	"testing"

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
	p.Text(`enter("#svc-email", " ada@example.com ")`)
	press(p, "Buy for")
	wait(p, "Your tickets are on their way to ada@example.com.")
	is.True(strings.Contains(s.sent("checkout.create")[0],
		`"buyer":{"email":"ada@example.com","fullname":"Adá Òjó","phone":"+234 1"}`))
}
