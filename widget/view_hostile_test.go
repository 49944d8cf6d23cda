package widget_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// markup are texts that become more than text where they are not handled as text.
func markup() []string {
	return []string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `</p><style>*{display:none}`,
		`javascript:alert(1)`, `<a href="https://evil.example">tickets</a>`, `&lt;b&gt;bold&lt;/b&gt;`,
		`{{constructor}}${7*7}`,
		"\u202Eright to left", `<iframe srcdoc="<script>parent.alert(1)</script>">`, `' onfocus='alert(1)' autofocus='`,
		`<base href="https://evil.example/">`, `<meta http-equiv="refresh" content="0;url=https://evil.example">`,
		strings.Repeat("W", 180),
	}
}

// A text of a company, of an order or of a shop's hook is shown as it is, in every place, and never becomes markup. No
// request goes elsewhere but for pictures.
func testHostile(t *testing.T, browser browsertest.Browser) {
	texts := markup()
	for i := 0; i < len(texts); i += 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			text, place, other := texts[i], texts[(i+1)%len(texts)], texts[(i+2)%len(texts)]
			event := event(jazz, "Lagos Jazz Night "+text)
			event["description"], event["organizerName"] = text, place
			event["location"] = object{"name": place, "venue": other}
			event["imageUrl"] = `https://cdn.harmattan.example/"onerror="alert(1)`
			category := other[:min(len(other), 50)]
			about := with(brand(), "brandName", place[:min(len(place), 110)])
			about["checkoutFooter"] = other
			refused := refuse(403, "MEMBERS_ONLY")
			refused.Message = text
			s := newShop(t, page{Mount: object{"brand": about}}, func(c call, n int) answer {
				switch {
				case c.Operation == "events.list":
					return answer{Envelope: eventPage(nil, event)}
				case c.Operation == "events.inventory":
					return answer{Envelope: envelope([]object{tier(category, "AVAILABLE", 10, 100)})}
				case c.Operation == "pricing.quote":
					return answer{Envelope: envelope(quote(c.Payload, map[string]int{category: 100}))}
				case n == 0:
					return refused
				}
				bought := order(c.Payload)
				for _, line := range bought["lines"].([]object) {
					line["title"] = text
				}
				branding := maps.Clone(bought["branding"].(object))
				branding["brandName"], branding["checkoutFooter"] = other[:min(len(other), 110)], place
				bought["branding"] = branding
				return answer{Envelope: envelope(bought)}
			})
			p := s.open(t, browser, browsertest.Size{Width: 320, Height: 640})
			p.Text(`(window.alert = () => document.title = "alerted", 0)`)
			check := func(state string) {
				t.Helper()
				p.Fits()
				if strings.HasPrefix(place, "W") {
					p.FullPicture("long-" + state)
				}
			}
			wait(p, "Lagos Jazz Night")
			check("list")
			press(p, "Lagos Jazz Night")
			p.Text(`await until(() => $(".stepper button:last-child"))`)
			is.Equal(p.Text(`$(".tier .name").textContent`), category)
			is.Equal(p.Text(`$(".about p").textContent`), text)
			check("event")
			p.Text(`$(".stepper button:last-child").click()`)
			press(p, "Continue")
			wait(p, "Your details")
			p.Text(`enter("#svc-email", "ada@example.com")`)
			press(p, "Buy for")
			wait(p, "Nothing was bought")
			is.Equal(p.Text(`$(".notice p:nth-child(2)").textContent`), text)
			check("refused")
			press(p, "Buy for")
			wait(p, "Your order is confirmed")
			is.Equal(p.Text(`$("footer").textContent`), place)
			check("success")
			is.Equal(p.Text(`document.title`), "Shop")
			is.Equal(p.Text(`$$("script, iframe, a, base, meta, style, object, embed").length`), "0")
			is.Equal(p.Text(`$$("*").filter(e => [...e.attributes].some(a => a.name.startsWith("on"))).length`), "0")
			clean(t, p)
		})
	}
}
