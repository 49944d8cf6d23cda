package widget_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/widget"
)

// placeOf is what a host says of where its frame is.
const placeOf = `scope: "0/", style: { colorScheme: "normal", direction: "ltr", fontFamily: "serif" }`

// mountFrame mounts a frame of the SDK's own document. What its calls get is in the page's function answer, and what it
// asked in asked.
func mountFrame(p *browsertest.Page, options string) browsertest.Frame {
	p.Text(`(window.answer = () => (` + eventsOf + `), window.asked = [], window.mounted = ServiceEmbedsV1.mountIframe({
		target: "#tickets", embedUrl: document.scripts[0].src.replace("embeds/v1/service.js", "embed/v1/events"),
		transport: async (...call) => (asked.push(call), answer(...call)), ` + options + ` }), "")`)
	return p.Frame.Frame(`document.querySelector("iframe")`)
}

// A host that lets the SDK in sells in a frame: the frame has what it needs and nothing more, asks the host for
// everything, and is as high as its content.
func TestMountIframe(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t, sitePage{
		policy: "default-src 'none'; script-src WEB; frame-src WEB; connect-src 'self'; img-src data:",
	})
	p := s.open(t)
	p.OwnOrigins("https://img.example")
	f := mountFrame(p, `brand: { primaryColor: "#112233", brandName: "Adire" }, initialQuery: { limit: 7 },
		title: "Concerts"`)
	is.Equal(p.Text(`[...document.querySelector("iframe").attributes].filter(a => a.name !== "style")
		.map(a => a.name + "=" + a.value).sort().join("\n")`), strings.Join([]string{
		"allow=", "referrerpolicy=no-referrer", "sandbox=allow-scripts allow-same-origin allow-forms",
		"src=" + s.web + "/embed/v1/events?origin=" + strings.ReplaceAll(strings.ReplaceAll(s.host, ":", "%3A"), "/", "%2F"),
		"title=Concerts",
	}, "\n"))
	f.Wait(`document.querySelector("div").shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
	is.Equal(p.Text(`JSON.stringify(asked[0])`), `["events.list",{"limit":7}]`)
	is.Equal(f.Text(`getComputedStyle(document.querySelector("div")).getPropertyValue("--brand-primary")`), "#112233")
	is.Equal(f.Text(`document.referrer`), "")
	p.Wait(`document.querySelector("iframe").offsetHeight > 160`)
	f.Wait(`document.documentElement.scrollHeight === innerHeight &&
		innerHeight === Math.ceil(document.querySelector("div").offsetHeight)`)
	is.Equal(f.Text(`document.documentElement.scrollWidth <= innerWidth`), "true")

	// The frame cannot reach the network. What it keeps is kept for this host.
	is.Equal(f.Text(`await fetch("/embeds/v1/service.js").then(() => "reached", () => "blocked")`), "blocked")
	is.Equal(f.Text(`Object.keys(sessionStorage)
		.filter(name => !name.startsWith("ServiceEmbedsV1:`+s.host+`:0/#tickets:"))`), "")

	before := evaluated[int](t, p, `asked.length`)
	is.Equal(p.Text(`await mounted.refresh()`), "undefined")
	is.True(evaluated[int](t, p, `asked.length`) > before)
	p.Text(`(mounted.destroy(), "")`)
	is.Equal(p.Text(`document.querySelector("iframe")`), "null")
	is.Equal(p.Text(`await mounted.refresh()`), "undefined")
	is.True(!strings.Contains(s.reported(), "style-src")) // The host needs no style of the SDK.
}

// A refresh that waits for the frame ends when the frame is gone.
func TestRefreshThatWaits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{frame: "0"}).open(t) // It never answers.
	mountFrame(p, "")
	is.Equal(p.Text(`await (async () => {
		const done = mounted.refresh()
		mounted.destroy()
		return done
	})()`), "undefined")

	p = newSite(t, sitePage{frame: callingFrame}).open(t) // It connects, and never answers.
	calling(p).Wait(`received.length === 1`)
	is.Equal(p.Text(`await (async () => {
		const done = mounted.refresh()
		await 0
		mounted.destroy()
		return done
	})()`), "undefined")
}

// The host drops what is no message of its frame, in its order and of its shape: its transport is not called, and
// nothing is answered.
func TestHostileFrame(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	p.Text(`(answer = () => (` + eventsOf + `), "")`)
	is := is.New(t)
	f.Wait(`received.length === 1`)
	is.Equal(f.Text(`JSON.stringify(received[0])`),
		`{"number":1,"type":"start","re":0,"value":{"brand":{},"initialQuery":{},"scope":"0/#tickets",`+
			`"style":{"colorScheme":"normal","direction":"ltr","fontFamily":"\"Times New Roman\""}}}`)
	const right = `{ number: number + 1, type: "call", re: 0, value: { operation: "events.list", payload: {} } }`
	asks := func() string { return f.Text(`(await ask("events.list", {})).type`) }
	is.Equal(asks(), "result")
	for _, message := range []string{
		`null`, `undefined`, `7`, `"call"`, `[]`, `{}`, `new Map()`,
		`{ ...RIGHT, number: number }`, `{ ...RIGHT, number: number + 2 }`, `{ ...RIGHT, number: 1 }`,
		`{ ...RIGHT, number: -1 }`,
		`{ ...RIGHT, number: String(number + 1) }`, `{ ...RIGHT, number: null }`, `{ ...RIGHT, more: 1 }`,
		`(({ re, ...rest }) => rest)(RIGHT)`, `(({ value, ...rest }) => rest)(RIGHT)`, `{ ...RIGHT, re: "0" }`,
		`{ ...RIGHT, re: -1 }`, `{ ...RIGHT, type: 7 }`,
	} {
		f.Text(`(post(` + strings.ReplaceAll(message, "RIGHT", right) + `), "")`)
	}
	is.Equal(asks(), "result") // None of those took the number of this one, and this one is answered.
	is.Equal(p.Text(`asked.length`), "2")

	// These have their number, and are not answered either.
	for _, message := range []string{
		`{ type: "Call" }`, `{ type: "start" }`, `{ type: "result", re: 1 }`, `{ type: "refreshed", re: 99 }`,
		`{ value: null }`,
		`{ value: { operation: "events.list" } }`, `{ value: { operation: "events.list", payload: null } }`,
		`{ value: { operation: "events.list", payload: {}, url: "https://evil.example" } }`,
		`{ value: { operation: "orders.list", payload: {} } }`, `{ value: { operation: "__proto__", payload: {} } }`,
		`{ value: { operation: ["events.list"], payload: {} } }`, `{ value: { operation: "toString", payload: {} } }`,
		`{ type: "height", value: "1px;x:y" }`, `{ type: "height", value: -7 }`, `{ type: "height", value: NaN }`,
		`{ type: "height", value: null }`, `{ type: "height", value: {} }`,
	} {
		f.Text(`(post({ ...` + right + `, ...` + message + ` }), number++, "")`)
	}
	is.Equal(asks(), "result")
	is.Equal(p.Text(`asked.length`), "3")
	is.Equal(p.Text(`document.querySelector("iframe").style.height`), "")
	f.Text(`(post({ ...` + right + `, type: "height", value: 1e9 }), number++, "")`)
	is.Equal(asks(), "result")
	is.Equal(p.Text(`document.querySelector("iframe").style.height`), "200000px")

	// A second channel takes the place of the first one, which is closed.
	f.Text(`(window.first = port,
		parent.postMessage({ type: "ServiceEmbedsV1.ready", nonce: crypto.randomUUID() }, "*"), "")`)
	f.Wait(`port !== first`)
	f.Text(`(first.postMessage({ ...` + right + ` }), number = 0, "")`)
	is.Equal(asks(), "result")
	is.Equal(p.Text(`asked.length`), "5")
	is.Equal(p.Text(`(mounted.destroy(), document.querySelector("iframe"))`), "null")
	p.IsClean()
}

// The host hands its channel to its frame alone: not to another window of the same origin, nor after a message of
// another shape.
func TestHostileReady(t *testing.T) {
	t.Parallel()
	// This frame connects only when the test wants it to, and counts what it gets.
	const script = `
		let got = 0
		addEventListener('message', event => { got += event.ports.length })
		const ready = message => parent.postMessage(message, '*')`
	s := newSite(t, sitePage{frame: script})
	p := s.open(t)
	f := mountFrame(p, "")
	p.Text(`(window.other = document.querySelector("#more").appendChild(document.createElement("iframe")),
		other.src = document.querySelector("iframe").src, "")`)
	other := p.Frame.Frame(`other`)
	is := is.New(t)
	const right = `{ type: "ServiceEmbedsV1.ready", nonce: crypto.randomUUID() }`
	f.Wait(`typeof ready === "function"`)
	other.Wait(`typeof ready === "function"`)
	other.Text(`(ready(` + right + `), "")`)
	for _, message := range []string{
		`null`, `"ServiceEmbedsV1.ready"`, `{}`, `{ type: "ServiceEmbedsV1.ready" }`, `{ ...RIGHT, nonce: "" }`,
		`{ ...RIGHT, nonce: 7 }`,
		`{ ...RIGHT, nonce: "x".repeat(1e6) }`, `{ ...RIGHT, more: 1 }`, `{ ...RIGHT, type: "ServiceEmbedsV1.connect" }`,
	} {
		f.Text(`(ready(` + strings.ReplaceAll(message, "RIGHT", right) + `), "")`)
	}
	p.Text(`(postMessage(` + right + `, "*"), dispatchEvent(new MessageEvent("message", { data: ` + right + `,
		origin: "` + s.web + `" })), "")`)
	p.Text(`await new Promise(done => { onmessage = done; postMessage("last", "*") }).then(() => 0)`)
	is.Equal(f.Text(`got`)+other.Text(`got`), "00")
	f.Text(`(ready(` + right + `), "")`)
	f.Wait(`got === 1`)
	is.Equal(other.Text(`got`), "0")
	p.IsClean()
}

// hostOfFrame makes the page the host of a real frame, by hand: what the frame posts to it is in ready, and what it
// sends through the channel in received.
const hostOfFrame = `(window.ready = [], window.received = [], window.frame = document.createElement("iframe"),
	window.onmessage = event => ready.push([event.origin, event.source === frame.contentWindow, event.data]),
	frame.src = WEB + "/embed/v1/events?origin=" + encodeURIComponent(location.origin),
	document.querySelector("#tickets").append(frame),
	window.connect = (nonce, ports = 1, type = "ServiceEmbedsV1.connect", more = {}) => {
		const channels = Array.from({ length: ports }, () => new MessageChannel())
		for (const { port1 } of channels) port1.onmessage = ({ data }) => received.push(data)
		frame.contentWindow.postMessage({ type, nonce, ...more }, WEB, channels.map(c => c.port2))
		return channels[0]?.port1
	}, "")`

// The frame takes one channel, from the page around it, with the number that it made for this, and then messages in
// their order and of their shape alone.
func TestHostileHost(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t, sitePage{})
	p := s.open(t)
	p.Text(strings.ReplaceAll(hostOfFrame, "WEB", `"`+s.web+`"`))
	f := p.Frame.Frame(`frame`)
	p.Wait(`ready.length === 1`)
	is.Equal(p.Text(`JSON.stringify([ready[0][0], ready[0][1], ready[0][2].type, Object.keys(ready[0][2]).length])`),
		`["`+s.web+`",true,"ServiceEmbedsV1.ready",2]`)

	// A window of the page's own origin is not the page.
	p.Text(`(window.inner = document.querySelector("#more").appendChild(document.createElement("iframe")), "")`)
	p.Text(`(inner.contentWindow.eval("0"), inner.contentWindow.Function("frame", "nonce", "origin",
		"const { port2 } = new MessageChannel(); " +
		"frame.postMessage({ type: 'ServiceEmbedsV1.connect', nonce }, origin, [port2])")
		(frame.contentWindow, ready[0][2].nonce, "` + s.web + `"), "")`)
	for _, call := range []string{
		`connect("")`, `connect(crypto.randomUUID())`, `connect(ready[0][2].nonce.toUpperCase() + " ")`, `connect(undefined)`,
		`connect(ready[0][2].nonce, 0)`, `connect(ready[0][2].nonce, 1, "connect")`,
		`connect(ready[0][2].nonce, 1, "ServiceEmbedsV1.connect", { more: 1 })`,
	} {
		p.Text(`(window.port = ` + call + `, port?.postMessage({ number: 1, type: "start", re: 0,
			value: { brand: {}, initialQuery: {}, ` + placeOf + ` } }), "")`)
	}
	p.Text(`(window.port = connect(ready[0][2].nonce), "")`)
	const start = `{ number: 1, type: "start", re: 0, value: { brand: {}, initialQuery: { limit: 3 }, ` + placeOf + ` } }`
	for _, message := range []string{
		`{ ...START, number: 0 }`, `{ ...START, number: 2 }`, `{ ...START, more: 1 }`, `null`,
	} {
		p.Text(`(port.postMessage(` + strings.ReplaceAll(message, "START", start) + `), "")`)
	}
	is.Equal(f.Text(`document.querySelectorAll("div").length`), "0")
	p.Text(`(port.postMessage(` + start + `), "")`)
	p.Wait(`received.some(message => message.type === "call")`)
	is.Equal(p.Text(`JSON.stringify(received.filter(message => message.type === "call"))`),
		`[{"number":1,"type":"call","re":0,"value":{"operation":"events.list","payload":{"limit":3}}}]`)

	// A second channel, and a second start, come to nothing.
	p.Text(`(connect(ready[0][2].nonce).postMessage(` + start + `),
		port.postMessage({ ...` + start + `, number: 2 }), "")`)
	// Nor does an answer to another call, or one that was answered: the first answer counts.
	p.Text(`(port.postMessage({ number: 3, type: "result", re: 99, value: {} }), "")`)
	p.Text(`(port.postMessage({ number: 4, type: "result", re: 1, value: ` + eventsOf + ` }), "")`)
	p.Text(`(port.postMessage({ number: 5, type: "result", re: 1,
		value: ` + strings.Replace(eventsOf, "Night", "Day", 1) + ` }), "")`)
	f.Wait(`document.querySelector("div").shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
	is.Equal(f.Text(`document.querySelectorAll("body > div").length`), "1")
	is.Equal(p.Text(`received.filter(message => message.type === "call").length`), "1")
	is.Equal(p.Text(`received.every((message, i) => message.number === i + 1)`), "true")
}

// The frame holds what comes through the channel to the same rules as the page does.
func TestStartOfFrame(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitePage{})
	p := s.open(t)
	for _, value := range []string{
		`{}`, `null`, `{ brand: {}, initialQuery: {} }`,
		strings.Replace(`{ brand: {}, initialQuery: {}, `+placeOf+` }`, `"0/"`, `7`, 1),
		strings.Replace(`{ brand: {}, initialQuery: {}, `+placeOf+` }`, `"ltr"`, `"up"`, 1),
		`{ brand: {}, initialQuery: {}, scope: "0/" }`,
		`{ brand: { logoUrl: "http://a.example/" }, initialQuery: {}, ` + placeOf + ` }`,
		`{ brand: { primaryColor: "red" }, initialQuery: {}, ` + placeOf + ` }`,
		`{ brand: {}, initialQuery: { limit: 0 }, ` + placeOf + ` }`,
		`{ brand: {}, initialQuery: {}, ` + placeOf + `, token: 1 }`,
	} {
		p.Text(strings.ReplaceAll(hostOfFrame, "WEB", `"`+s.web+`"`))
		p.Wait(`ready.length === 1`)
		p.Text(fmt.Sprintf(`(window.port = connect(ready[0][2].nonce),
			port.postMessage({ number: 1, type: "start", re: 0, value: %s }),
			port.postMessage({ number: 2, type: "start", re: 0,
				value: { brand: {}, initialQuery: { limit: 9 }, `+placeOf+` } }), "")`, value))
		p.Wait(`received.some(message => message.type === "call")`)
		got := p.Text(`(frame.remove(), received.find(message => message.type === "call").value.payload.limit)`)
		if got != "9" {
			t.Errorf("the frame starts with %s", value)
		}
	}
}

// A browser shows the frame's document in a page of the one origin that it was served to, and nowhere else.
func TestFrameAncestors(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitePage{})
	p := s.open(t)
	other := strings.Replace(s.host, "localhost", "other.localhost", 1)
	for origin, shown := range map[string]bool{
		s.host:                true,
		other:                 false,
		"https://localhost":   false,
		s.web:                 false,
		s.host + "/":          false,
		"https://*.localhost": false,
		"null":                false,
	} {
		p.Text(`await new Promise(loaded => {
			window.frame = document.createElement("iframe")
			frame.src = "` + s.web + `/embed/v1/events?` + query(origin) + `"
			frame.onload = loaded
			document.body.append(frame)
		}).then(() => "")`)
		got := p.Frame.Frame(`window.frame`).Text(`document.URL`) // Where the document is refused, a page of the browser.
		if strings.HasPrefix(got, s.web) != shown || !shown && got != "chrome-error://chromewebdata/" {
			t.Errorf("with origin=%s the frame shows %q", origin, got)
		}
		p.Text(`(frame.remove(), "")`)
	}
}

// A page without TLS has no frame, and is said why.
func TestFrameWithoutTLS(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	handler := http.NewServeMux()
	handler.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><link rel="icon" href="data:,"><p></p>
			<script src="/embeds/v1/service.js"></script>`))
	})
	p := browser.Open(t, plainServer(t, handler), browsertest.Desktop)
	is.New(t).Equal(p.Text(`(() => { try { ServiceEmbedsV1.mountIframe({ target: "p", transport: () => {},
		embedUrl: "https://a.example/embed/v1/events" }) } catch (error) { return error.message } })()`),
		"ServiceEmbedsV1: mountIframe needs a page over HTTPS")
	is.New(t).Equal(p.Text(`document.querySelector("iframe")`), "null")
}

// A frame is as high as its content, however much that is, and where the page makes it lower it scrolls.
func TestHeight(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t, sitePage{})
	p := s.open(t)
	p.Resize(browsertest.Size{Width: 320, Height: 640})
	f := mountFrame(p, "")
	f.Wait(`document.querySelector("div").shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
	f.Text(`(document.querySelector("div").style.height = "30000px", "")`)
	p.Wait(`document.querySelector("iframe").offsetHeight === 30000`)
	f.Wait(`document.documentElement.scrollHeight === innerHeight`)
	p.Text(`(document.querySelector("iframe").style.maxHeight = "500px", "")`)
	f.Wait(`innerHeight === 500`)
	f.Text(`await new Promise(scrolled => { onscroll = scrolled; scrollTo(0, 1e6) }).then(() => "")`)
	is.Equal(f.Text(`scrollY + innerHeight >= document.querySelector("div").offsetHeight`), "true")
	// A person scrolls it, too: it is no hidden overflow.
	is.True(f.Text(`getComputedStyle(document.documentElement).overflowY`) != "hidden")
}

// A frame has the color-scheme, the direction and the font of its place in the page.
func TestStyleOfFrame(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	p.Text(`(Object.assign(document.querySelector("#tickets").style,
		{ colorScheme: "dark", direction: "rtl", fontFamily: "monospace" }), "")`)
	f := mountFrame(p, "")
	f.Wait(`document.querySelector("div").shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
	section := `getComputedStyle(document.querySelector("div").shadowRoot.querySelector("section"))`
	is.Equal(f.Text(section+`.colorScheme`), "dark")
	is.Equal(f.Text(section+`.direction`), "rtl")
	is.Equal(f.Text(section+`.fontFamily`), "monospace")
	f.Wait(section + `.backgroundColor === "rgb(20, 23, 28)"`)
	is.Equal(p.Text(`getComputedStyle(document.querySelector("iframe")).colorScheme`), "dark")
}

// A frame that is reloaded, or moved in the page, works on. A refresh that the old document was asked for ends.
func TestFrameReload(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t, sitePage{})
	p := s.open(t)
	f := mountFrame(p, "")
	const shown = `document.querySelector("div")?.shadowRoot.textContent.includes("Ọ̀ṣun Night")`
	f.Wait(shown)
	for _, act := range []string{
		`frame.src = frame.src`,
		`document.querySelector("#more").append(frame)`,
	} {
		p.Text(`(window.frame = document.querySelector("iframe"), window.go = null,
			window.kept = answer, answer = () => new Promise(done => { go = () => done(kept()) }),
			window.done = mounted.refresh(), "")`)
		p.Wait(`go !== null`)
		p.Text(`(answer = kept, ` + act + `, "")`)
		is.Equal(p.Text(`await done`), "undefined")
		p.Text(`(go(), "")`) // Too late: it answers nothing of the new document.
		f = p.Frame.Frame(`document.querySelector("iframe")`)
		f.Wait(shown)
		before := evaluated[int](t, p, `asked.length`)
		is.Equal(p.Text(`await mounted.refresh()`), "undefined")
		is.True(evaluated[int](t, p, `asked.length`) > before)
	}

	// Another document says nothing. What waits for it ends, at once or after a minute.
	p.Text(`(window.setTimeout = (act, patience) => { Object.assign(window, { act, patience }) },
		answer = () => new Promise(() => {}), window.done = mounted.refresh(), frame.src = "about:blank", "")`)
	is.Equal(p.Text(`await done`), "undefined")
	p.Text(`(patience = 0, window.done = mounted.refresh(), "")`)
	p.Wait(`patience === 60000`)
	is.Equal(p.Text(`(act(), await done)`), "undefined")
}

// A refresh of a frame whose document never answers ends after ten seconds.
func TestFrameThatIsDown(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{frame: "0"}).open(t)
	p.Text(`(window.setTimeout = (act, patience) => { Object.assign(window, { act, patience }) }, "")`)
	mountFrame(p, "")
	is.Equal(p.Text(`patience`), "10000")
	p.Text(`(act(), "")`)
	is.Equal(p.Text(`await mounted.refresh()`), "undefined")
}

// The frame's document turns off every feature that the browser has.
func TestFeatures(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitePage{})
	p := s.open(t)
	f := mountFrame(p, `transport: () => new Promise(() => {})`)
	f.Wait(`document.querySelector("div")`)
	header := request(t, widget.New(nil), "GET", "/embed/v1/events?origin=https://shop.example", nil).header
	policy := header.Get("Permissions-Policy")
	is := is.New(t)
	features := evaluated[[]string](t, f, `document.featurePolicy.features()`)
	is.True(len(features) > 30)
	for _, feature := range features {
		if !strings.Contains(", "+policy, ", "+feature+"=()") {
			t.Errorf("%s is on", feature)
		}
	}
	p.IsClean()
}
