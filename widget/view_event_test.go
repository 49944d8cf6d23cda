package widget_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

func testEvent(t *testing.T, browser browsertest.Browser) {
	for name, test := range map[string]func(*testing.T, browsertest.Browser){
		"says what, when and where":   eventFacts,
		"keeps the basket":            keptBasket,
		"has at most 50 tickets":      mostTickets,
		"prices what was chosen last": lastQuote,
		"sold while looking":          soldWhileLooking,
		"no single price":             noSinglePrice,
		"sold out":                    soldOut,
		"not on sale yet":             notYetOnSale,
		"no longer on sale":           gone,
		"tickets fail":                failingTickets,
		"pictures are missing":        missingPicture,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}

// openEvent opens the shop at its event, with the tickets shown.
func (s *shop) openEvent(t testing.TB, browser browsertest.Browser, size browsertest.Size) *browsertest.Page {
	t.Helper()
	p := s.open(t, browser, size)
	press(p, "Lagos Jazz Night")
	p.Text(`await until(() => $(".tier .name"))`)
	return p
}

// An event has its day, times and zone in words, its place, its description, and its tickets with their prices and why
// some cannot be bought. The focus is at its title, and comes back to the event in the list.
func eventFacts(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openEvent(t, browser, browsertest.Desktop)
	shown := strings.Join(strings.Fields(p.Text(`seen()`)), " ")
	for _, text := range []string{
		"Tuesday, 24 December 2030 19:00 to 02:00 on Wednesday, 25 December 2030 West Africa",
		"Eko Convention Centre Victoria Island, Lagos", "By Harmattan Live", "A night of highlife and jazz",
		"Early bird Sold out", "General admission ₦5,000 ", "Student Free", "VIP ₦25,000.50 Only 7 left",
		"VVIP ₦90,000 Not on sale at the moment", "No tickets chosen yet.",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is not in %q", text, shown)
		}
	}
	is.Equal(p.Text(`tree().activeElement.innerText`), "Lagos Jazz Night")
	press(p, "All events")
	is.Equal(p.Text(`tree().activeElement.innerText`), "Lagos Jazz Night")
	is.Equal(len(s.sent("events.list")), 1)
	clean(t, p)
}

// The basket outlives the way to the list, and a reload.
func keptBasket(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openEvent(t, browser, browsertest.Phone)
	press(p, "Add one ticket: VIP")
	press(p, "Add one ticket: VIP")
	wait(p, "₦50,001")
	press(p, "All events")
	press(p, "Lagos Jazz Night")
	wait(p, "₦50,001")
	p.Do(chromedp.Navigate(s.url))
	wait(p, "₦50,001")
	is.Equal(p.Text(`document.activeElement.tagName`), "BODY") // Loading a page moves no focus.
	press(p, "Remove one ticket: VIP")
	press(p, "Remove one ticket: VIP")
	wait(p, "No tickets chosen yet.")
	p.Do(chromedp.Navigate(s.url))
	wait(p, "Events")
}

// An order has at most 50 tickets, and no more of a tier than there are.
func mostTickets(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, nil)
	p := s.openEvent(t, browser, browsertest.Phone)
	const inputs = `$$("input").map(e => e.value).join()`
	const status = `$("[role=status]").textContent` // until the total of the tickets takes its place
	is.Equal(p.Text(`(enter("[aria-label='Quantity: VIP']", 9), `+status+`)`), "Only 7 left")
	is.Equal(p.Text(inputs), "0,0,7")
	const described = `$("#" + $("[aria-label='Quantity: VIP']").getAttribute("aria-describedby")).innerText`
	is.Equal(p.Text(described), "Only 7 left")
	p.Text(`enter("[aria-label='Quantity: VIP']", 7)`)
	is.Equal(p.Text(described), "")
	is.Equal(p.Text(`(enter("[aria-label='Quantity: General admission']", 44), `+status+`)`),
		"At most 50 tickets in an order.")
	is.Equal(p.Text(inputs), "43,0,7")
	is.Equal(p.Text(`$$(".stepper button:last-child").map(e => e.ariaDisabled)`), "true,true,true")
	press(p, "Add one ticket: Student")
	is.Equal(p.Text(inputs), "43,0,7")
	p.Text(`enter("[aria-label='Quantity: VIP']", "-3")`)
	p.Text(`enter("[aria-label='Quantity: General admission']", "x")`)
	is.Equal(p.Text(inputs), "0,0,0")
	is.Equal(p.Text(`$$(".stepper button:first-child").map(e => e.ariaDisabled)`), "true,true,true")
}

// Only the quantities that rest are priced. An answer for others is dropped, also when it comes last.
func lastQuote(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	first := make(chan struct{})
	s := newShop(t, page{}, func(c call, n int) answer {
		if c.Operation == "pricing.quote" && n == 0 {
			<-first
		}
		return answer{}
	})
	p := s.openEvent(t, browser, browsertest.Phone)
	press(p, "Add one ticket: VIP")
	for len(s.sent("pricing.quote")) == 0 {
		p.Text(`await new Promise(r => native.setTimeout(r, 10))`)
	}
	p.Text(`(named("Add one ticket: VIP").click(), named("Add one ticket: VIP").click())`)
	wait(p, "₦75,001.50")
	close(first)
	p.Text(`await until(() => answered === 4)`)
	press(p, "Continue")
	wait(p, "Buy for ₦75,001.50")
	is.Equal(len(s.sent("pricing.quote")), 2)
}

// Tickets that are sold meanwhile leave the basket, and the buyer is shown which.
func soldWhileLooking(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	fewer := []object{tier("GENERAL_ADMISSION", "SOLD_OUT", 0, -1), tier("VIP", "AVAILABLE", 1, 2500050)}
	s := newShop(t, page{}, script{
		"events.inventory": {{}, {Envelope: envelope(fewer)}},
		"pricing.quote":    {{}, refuse(409, "PRICING_UNAVAILABLE")},
	}.reply)
	p := s.openEvent(t, browser, browsertest.Phone)
	press(p, "Add one ticket: General admission")
	p.Text(`await until(() => $(".total")?.innerText.includes("₦5,000"))`)
	p.Text(`enter("[aria-label='Quantity: VIP']", 3)`)
	wait(p, "Some tickets were sold while you were looking")
	wait(p, "General admission: was 1, now 0")
	wait(p, "VIP: was 3, now 1")
	p.Text(`await until(() => $(".total").innerText.includes("₦25,000.50"))`)
	p.FullPicture("sold-while-looking")
	is.Equal(s.sent("pricing.quote")[2], `{"eventId":"`+jazz+`","lines":[{"tier":"VIP","quantity":1}]}`)
}

// A quantity that has no single price can be made smaller.
func noSinglePrice(t *testing.T, browser browsertest.Browser) {
	s := newShop(t, page{}, script{"pricing.quote": {refuse(409, "PRICING_UNAVAILABLE")}}.reply)
	p := s.openEvent(t, browser, browsertest.Phone)
	p.Text(`enter("[aria-label='Quantity: VIP']", 3)`)
	wait(p, "So many tickets aren't available at one price.")
	press(p, "Remove one ticket: VIP")
	wait(p, "₦50,001")
	p.Text(`await until(() => !seen().includes("So many"))`)
}

func soldOut(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	none := []object{tier("VIP", "SOLD_OUT", 0, -1)}
	s := newShop(t, page{}, script{"events.inventory": {{Envelope: envelope(none)}}}.reply)
	p := s.openEvent(t, browser, browsertest.Phone)
	wait(p, "All tickets are sold")
	is.Equal(p.Text(`$(".order") + " " + $("input")`), "null null")
	p.Picture("sold-out")
}

func notYetOnSale(t *testing.T, browser browsertest.Browser) {
	s := newShop(t, page{}, script{"events.inventory": {{Envelope: envelope([]object{})}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	press(p, "Lagos Jazz Night")
	wait(p, "Tickets aren't on sale yet")
}

func gone(t *testing.T, browser browsertest.Browser) {
	s := newShop(t, page{}, script{"events.inventory": {refuse(404, "NOT_FOUND")}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	press(p, "Lagos Jazz Night")
	wait(p, "This event is no longer on sale.")
	press(p, "All events")
	wait(p, "Comedy at the Marina")
}

// The tickets are asked for again by the button, and the focus is not lost with it.
func failingTickets(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	s := newShop(t, page{}, script{"events.inventory": {refuse(401, "AUTHENTICATION_FAILED")}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	press(p, "Lagos Jazz Night")
	wait(p, "Your session has ended.")
	wait(p, "req-7f3a")
	press(p, "Try again")
	wait(p, "General admission")
	is.Equal(p.Text(`tree().activeElement.innerText`), "Lagos Jazz Night")
}

// A picture that cannot be had leaves its place, and so does a logo.
func missingPicture(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	missing := event(jazz, "Lagos Jazz Night")
	missing["imageUrl"] = "https://nowhere.example/a.png"
	about := brand()
	about["logoUrl"] = "https://nowhere.example/logo.png"
	only := eventPage(nil, missing)
	s := newShop(t, page{Mount: object{"brand": about}}, script{"events.list": {{Envelope: only}}}.reply)
	p := s.open(t, browser, browsertest.Phone)
	wait(p, "Lagos Jazz Night")
	p.Text(`await until(() => !$(".picture img") && $(".logo.broken"))`)
	is.Equal(p.Text(`(r => Math.round(r.width * 9 / r.height))($(".picture").getBoundingClientRect())`), "16")
	is.Equal(p.Text(`$(".logo").offsetHeight + " " + getComputedStyle($(".logo")).visibility`), "40 hidden")
	p.Picture("missing-picture")
}
