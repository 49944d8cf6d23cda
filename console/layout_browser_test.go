package console_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// uneven is a function that returns the elements of a selector whose side differs from that of the first by over 1 px.
const uneven = `(selector, side) => {
	const all = [...document.querySelectorAll(selector)].filter(e => e.checkVisibility())
	const of = e => e.getBoundingClientRect()[side]
	return all.length < 2 ? "too few" : all.filter(e => Math.abs(of(e) - of(all[0])) > 1).map(e => e.outerHTML).join("\n")
}`

// TestControlsStandInLine holds that boxes, lists and buttons of a filter have one height, that the buttons under an
// empty list do not touch and are of one line, and that fields beside each other stay on one line when one is refused.
func TestControlsStandInLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	p := s.open(t, browsertest.New(t), owner, orders, browsertest.Desktop)
	for _, size := range sizes() {
		p.Resize(size)
		ok.Equal(p.Text(`(`+uneven+`)("#filters :is(select, input:not(.picker), button)", "height")`), "")
		ok.Equal(p.Text(`(`+uneven+`)(".more > .button", "height")`), "")
		ok.Equal(p.Text(`(() => {
			const all = [...document.querySelectorAll(".more > .button")].map(e => e.getBoundingClientRect())
			return all.length === 3 && all[0].height < 45 && all.slice(1).every((r, i) =>
				r.left - all[i].right > 5 || r.top - all[i].bottom > 5)
		})()`), "true")
	}
	p.Resize(browsertest.Desktop)
	submit(t, p, s.filled(events+"/create"), "End time: must be a time of day", "title", "Fuji", "date", "2027-10-31",
		"startsAt", "20:00", "endsAt", "25:00", "timezone", "Africa/Lagos", "imageUrl", "https://img.example.com/fuji.jpg",
		"idempotencyKey", "fuji-2027", "status", "DRAFT")
	ok.Equal(p.Text(`(`+uneven+`)("form .row > .field > label", "top")`), "")
}

// TestTablesStandInLine holds that the buttons of a table's rows end where the table ends, that a badge stands on the
// line of the text beside it, and that all that is beside a heading stands together at its other side.
func TestTablesStandInLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	s.fillShop(t)
	p := s.open(t, browsertest.New(t), owner, "/business/{companyId}/mail", browsertest.Desktop)
	ok.Equal(p.Text(`(`+uneven+`)("table:has(.acts), table .acts button", "right")`), "")
	ok.Equal(p.Text(`[...document.querySelectorAll("tbody tr")].map(row => {
		const bottom = element => {
			const text = document.createRange()
			text.selectNodeContents(element)
			return text.getBoundingClientRect().bottom
		}
		return bottom(row.querySelector(".number")) - bottom(row.querySelector(".badge"))
	}).filter(below => below < 0 || below > 1.5).join()`), "")

	p = s.open(t, browsertest.New(t), owner, webhooks, browsertest.Desktop)
	ok.Equal(p.Text(`(() => {
		const all = [...document.querySelectorAll(".head:has(h1) .button")].map(e => e.getBoundingClientRect())
		const end = document.querySelector(".head").getBoundingClientRect().right
		return all.length === 3 && end - all[2].right < 1 && all.slice(1).every((r, i) => r.left - all[i].right < 20)
	})()`), "true")
}
