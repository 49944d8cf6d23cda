package console_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// pointAt moves the mouse to the middle of what an expression selects.
func pointAt(t *testing.T, p *browsertest.Page, expression string) {
	t.Helper()
	at := strings.Split(p.Text(`(() => {
		const { left, top, width, height } = (`+expression+`).getBoundingClientRect()
		return [left + width / 2, top + height / 2].join()
	})()`), ",")
	x, err := strconv.ParseFloat(at[0], 64)
	is.New(t).NoErr(err)
	y, err := strconv.ParseFloat(at[1], 64)
	is.New(t).NoErr(err)
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// TestChartShowsItsValues holds that a chart shows the moment and the value of an interval beside the pointer, and for
// the interval that the arrow keys choose, that nothing else moves, and that an update of the page changes the value.
func TestChartShowsItsValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	s.sell(t)
	s.count(t)
	first := s.books.Clock.Now()
	s.advanceTo(t, first.Add(24*time.Hour))
	s.sell(t)
	s.count(t)
	lagos := time.FixedZone("WAT", 60*60)
	earlier, today := first.In(lagos).Format("2 Jan 2006"), first.Add(24*time.Hour).In(lagos).Format("2 Jan 2006")
	p := s.open(t, browsertest.New(t), owner, reports, browsertest.Desktop)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	const value, intervals = `document.querySelector("#value")`, `[...document.querySelectorAll(".plot .over")]`
	const open = value + `?.checkVisibility() ?? false`
	const last = `[...document.querySelector(".plot").querySelectorAll(".over")].at(-1)`
	const places = `[...document.querySelectorAll("section, footer")].map(e => {
		const { left, top, width, height } = e.getBoundingClientRect()
		return [left, top, width, height].join()
	}).join("|") + document.documentElement.scrollHeight`
	before := p.Text(places)

	pointAt(t, p, last)
	p.Wait(open)
	p.Picture("chart-value")
	ok.Equal(p.Text(value+`.textContent`), today+": ₦150.00")
	ok.Equal(p.Text(last+`.querySelector("title") === null`), "true") // The browser shows no second one.
	ok.Equal(p.Text(`(() => {
		const tip = `+value+`.getBoundingClientRect(), bar = `+last+`.getBoundingClientRect()
		const away = bar.left + bar.width / 2 - tip.right
		return away > 0 && away < 40 && tip.left > 0 && tip.right < innerWidth
	})()`), "true") // beside the pointer, on the side with place
	ok.Equal(p.Text(places), before)
	pointAt(t, p, `document.querySelector("h1")`)
	p.Wait(`!(` + open + `)`)

	p.Text(`document.querySelector(".filters button").focus()`)
	p.TabTo(".plot > svg")
	ok.Equal(p.Text(value+`.textContent`), today+": ₦150.00")
	ok.Equal(p.Text(`document.querySelector("#said").textContent`), today+": ₦150.00") // for a screen reader
	p.Press(kb.ArrowRight)                                                             // There is none.
	ok.Equal(p.Text(value+`.textContent`), today+": ₦150.00")
	p.Press(kb.ArrowLeft)
	ok.Equal(p.Text(value+`.textContent`), earlier+": ₦300.00")
	p.Press(kb.Home)
	ok.Equal(p.Text(`document.querySelectorAll(".at").length + "," + `+intervals+`.findIndex(i => i.matches(".at"))`),
		"1,0")
	p.Press(kb.Escape)
	ok.Equal(p.Text(open), "false")
	p.Press(kb.ArrowLeft)
	ok.Equal(p.Text(value+`.textContent`), today+": ₦150.00")
	ok.Equal(p.Text(places), before)

	s.sell(t)
	s.count(t)
	p.Wait(value + `.textContent === "` + today + `: ₦300.00"`)
	p.Press(kb.Tab)
	ok.Equal(p.Text(open), "false")
	p.IsClean()
}
