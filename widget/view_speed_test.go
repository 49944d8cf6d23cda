package widget_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// observe measures, from here on, how much of the page shifts without an input, how long the slowest input waits for
// the next picture, and when the first picture with events is there. Event Timing reports inputs of 16 ms and more.
const observe = `(() => {
	window.measured = { shift: 0, input: 0, render: 0 }
	const watch = (options, see) => new PerformanceObserver(list => list.getEntries().forEach(see)).observe(options)
	watch({ type: "layout-shift" }, e => measured.shift += e.hadRecentInput ? 0 : e.value)
	watch({ type: "event", durationThreshold: 16 }, e => {
		if (e.interactionId) measured.input = Math.max(measured.input, e.duration)
	})
	new MutationObserver((_, observer) => {
		observer.disconnect()
		requestAnimationFrame(() => {
			const painted = new MessageChannel()
			painted.port1.onmessage = () => measured.render = performance.now()
			painted.port2.postMessage(0)
		})
	}).observe($(".cards"), { childList: true })
})()`

// rest gives the page time for what it does when nobody waits.
const rest = `await new Promise(done => native.setTimeout(done, 700))`

// BenchmarkView measures the widget with 25 events, on a processor that is slowed four times: how long after the data
// the first render is there, the slowest input of a purchase, and how much of the page shifts. The times are
// the medians of all rounds. They say little on a machine that is busy otherwise.
func BenchmarkView(b *testing.B) {
	browser := browsertest.New(b)
	events := []object{event(jazz, "Lagos Jazz Night")}
	for i := range 24 {
		id := fmt.Sprintf("3f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b%02d", i)
		events = append(events, event(id, fmt.Sprintf("Lagos Jazz Night %d", i)))
	}
	var render, input []float64
	var shift float64
	for b.Loop() {
		is := is.New(b)
		data := make(chan struct{})
		s := newShop(b, page{Speed: 1, Mount: object{"brand": brand()}}, func(c call, _ int) answer {
			if c.Operation == "events.list" {
				<-data
				return answer{Envelope: eventPage(nil, events...)}
			}
			return answer{}
		})
		p := browser.Open(b, s.url+"/page.css", browsertest.Phone)
		pictures(b, p)
		slow := func(times float64) {
			_, err := chromedp.Call(p.Context(), emulation.SetCPUThrottlingRate,
				emulation.SetCPUThrottlingRateParams{Rate: times})
			is.NoErr(err)
		}
		slow(4)
		p.Do(chromedp.Navigate(s.url))
		p.Text(`await until(() => $(".skeleton"))`)
		p.Text(observe)
		p.Text(rest)
		close(data)
		p.Text(rest)
		render = append(render, number(is, p.Text(`measured.render - arrived`)))

		click := func(selector, then string) {
			var x, y float64
			p.Text(`await until(() => $("` + selector + `")).then(e => e.scrollIntoView({ block: "center" }))`)
			p.Text(rest)
			const center = `(r => r.x + r.width / 2 + " " + (r.y + r.height / 2))`
			_, err := fmt.Sscan(p.Text(center+`($("`+selector+`").getBoundingClientRect())`), &x, &y)
			is.NoErr(err)
			p.Do(chromedp.MouseClickXY(x, y))
			p.Text(`await until(() => ` + then + `)`)
		}
		click(".card h3 button", `$(".stepper")`)
		for range 3 {
			click(".stepper button:last-child", `true`)
		}
		p.Text(`await until(() => $(".total").innerText.includes("₦"))`)
		click(".order .main", `$("#svc-email")`)
		click(".form .main", `$(".error").innerText`)
		click("#svc-email", `true`)
		p.Do(chromedp.KeyEvent("ada@example.com"))
		click(".form .main", `$(".code")`)
		p.Text(rest)
		input = append(input, number(is, p.Text(`measured.input`)))
		shift = max(shift, number(is, p.Text(`measured.shift`)))
		slow(1) // Slowing a page down takes processor time, also in the rounds after it.
	}
	b.ReportMetric(median(render), "ms-render")
	b.ReportMetric(median(input), "ms-input")
	b.ReportMetric(shift, "shift")
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

func number(is *is.I, text string) (n float64) {
	is.Helper()
	_, err := fmt.Sscan(text, &n)
	is.NoErr(err)
	return n
}
