package widget_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// The script defines one name that no page can change. Loading it twice changes nothing.
func TestService(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	is.Equal(p.Text(`Object.keys(ServiceEmbedsV1)`), "version,mount,mountIframe,proxyTransport")
	is.Equal(p.Text(`ServiceEmbedsV1.version + Object.isFrozen(ServiceEmbedsV1)`), "1.0.0true")
	is.Equal(p.Text(`JSON.stringify({ ...Object.getOwnPropertyDescriptor(window, "ServiceEmbedsV1"), value: 0 })`),
		`{"value":0,"writable":false,"enumerable":true,"configurable":false}`)
	is.Equal(p.Text(`(window.first = ServiceEmbedsV1, await new Promise(loaded => {
		const again = document.createElement("script")
		again.src = document.scripts[0].src
		again.onload = loaded
		document.body.append(again)
	}), ServiceEmbedsV1 === first)`), "true")
	is.Equal(p.Text(`(() => {
		const names = Object.keys(window)
		const empty = document.body.appendChild(document.createElement("iframe")).contentWindow
		return names.filter(name => !(name in empty))
	})()`), "ServiceEmbedsV1,first") // no other name
	p.IsClean()
}

// mounting tries to mount with options over those that are right, and returns the error, or the names of what mount
// returns.
const mounting = `((name, options, embedUrl) => {
	const right = { target: "#tickets", transport: async () => { throw Object.assign(new Error("x"), { status: 500 }) } }
	if (embedUrl) right.embedUrl = document.scripts[0].src.replace("embeds/v1/service.js", "embed/v1/events")
	try {
		const mounted = ServiceEmbedsV1[name](Object.defineProperties(right, Object.getOwnPropertyDescriptors(options)))
		mounted.destroy()
		return Object.keys(mounted).join() + Object.isFrozen(mounted) + document.querySelector("#tickets").childNodes.length
	} catch (error) {
		return error.name + ": " + error.message
	}
})`

// Each option is held to its rule. An error names the option, and never repeats its value.
func TestOptions(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{}).open(t)
	const (
		mounted  = "refresh,destroytrue0"
		line     = "must be one line of 1 to "
		hex      = "must be # and six hexadecimal digits"
		web      = "must be an HTTPS URL without credentials and fragment"
		embed    = "must be an HTTPS URL that ends in /embed/v1/events"
		element  = "finds no element"
		unknown  = "is not expected"
		form     = "is missing or malformed"
		secret   = "looks like a credential"
		limit    = "must be an integer from 1 to 100"
		dir      = form
		function = form
	)
	type rule struct{ path, reason string }
	both := map[string]rule{
		`{}`:                           {},
		`{brand: {}}`:                  {},
		`{brand: undefined}`:           {},
		`{target: document.body}`:      {},
		`{initialQuery: {limit: 1}}`:   {},
		`{initialQuery: {limit: 100}}`: {},
		`{brand: {brandName: "Ọ̀ṣun & <Sons>", primaryColor: "#1a2B3c", accentColor: "#FFFFFF",
			checkoutFooter: "x".repeat(500),
			logoUrl: "https://cdn.example/a.png?token=abc&v=2"}}`: {},
		`Object.freeze({brand: Object.freeze({})})`:   {},
		`{brand: {brandName: "Secret Token Garden"}}`: {}, // Only names of options are looked at so.

		`{target: undefined}`:                                         {"target", element},
		`{target: null}`:                                              {"target", element},
		`{target: "#none"}`:                                           {"target", element},
		`{target: "##"}`:                                              {"target", element},
		`{target: ""}`:                                                {"target", element},
		`{target: document}`:                                          {"target", element},
		`{target: document.createElement("div")}`:                     {"target", element},
		`{target: [document.body]}`:                                   {"target", element},
		`{transport: undefined}`:                                      {"transport", function},
		`{transport: "/tickets"}`:                                     {"transport", function},
		`{initialQuery: null}`:                                        {"initialQuery", form},
		`{initialQuery: []}`:                                          {"initialQuery", form},
		`{initialQuery: {limit: 0}}`:                                  {"initialQuery.limit", limit},
		`{initialQuery: {limit: 101}}`:                                {"initialQuery.limit", limit},
		`{initialQuery: {limit: 1.5}}`:                                {"initialQuery.limit", limit},
		`{initialQuery: {limit: "5"}}`:                                {"initialQuery.limit", limit},
		`{initialQuery: {status: "DRAFT"}}`:                           {"initialQuery.status", unknown},
		`{initialQuery: {cursor: "abc"}}`:                             {"initialQuery.cursor", unknown},
		`{brand: null}`:                                               {"brand", form},
		`{brand: "x"}`:                                                {"brand", form},
		`{brand: {brandName: ""}}`:                                    {"brand.brandName", line + "120 characters"},
		`{brand: {brandName: "  "}}`:                                  {"brand.brandName", line + "120 characters"},
		`{brand: {brandName: "a\nb"}}`:                                {"brand.brandName", line + "120 characters"},
		`{brand: {brandName: "x".repeat(121)}}`:                       {"brand.brandName", line + "120 characters"},
		`{brand: {brandName: {toString: () => "x"}}}`:                 {"brand.brandName", line + "120 characters"},
		`{brand: {checkoutFooter: "x".repeat(501)}}`:                  {"brand.checkoutFooter", line + "500 characters"},
		`{brand: {primaryColor: "red"}}`:                              {"brand.primaryColor", hex},
		`{brand: {primaryColor: "#123"}}`:                             {"brand.primaryColor", hex},
		`{brand: {accentColor: "#11223344"}}`:                         {"brand.accentColor", hex},
		`{brand: {accentColor: "#112233;x:y"}}`:                       {"brand.accentColor", hex},
		`{brand: {logoUrl: "http://a.example/"}}`:                     {"brand.logoUrl", web},
		`{brand: {logoUrl: "//a.example/"}}`:                          {"brand.logoUrl", web},
		`{brand: {logoUrl: "data:image/png,"}}`:                       {"brand.logoUrl", web},
		`{brand: {logoUrl: "https://me:hunter2@a.example/"}}`:         {"brand.logoUrl", web},
		`{brand: {logoUrl: "https://me@a.example/"}}`:                 {"brand.logoUrl", web},
		`{brand: {logoUrl: "https://a.example/#b"}}`:                  {"brand.logoUrl", web},
		`{brand: {logoUrl: "https://a.example/#"}}`:                   {"brand.logoUrl", web},
		`{brand: {logoUrl: "https://a.example/" + "x".repeat(2048)}}`: {"brand.logoUrl", web},
		`{brand: {color: "#112233"}}`:                                 {"brand.color", unknown},
		`{theme: {}}`:                                                 {"theme", unknown},
		`{toString: 1}`:                                               {"toString", unknown},
		`JSON.parse('{"__proto__": 1}')`:                              {"__proto__", unknown},
		`{[Symbol("x")]: 1}`:                                          {"(a name)", unknown},
		`{get brand() { throw new Error("called") }}`:                 {"brand", form},
		`{brand: {get logoUrl() { throw new Error("called") }}}`:      {"brand.logoUrl", form},
		`(() => { const a = {}; a.a = a; return {brand: a} })()`:      {"brand.a", unknown},
		`(() => { const a = []; a.push(a); return {extra: a} })()`:    {"extra", unknown},

		// What looks like a credential, at any depth, by its name or its value.
		`{apiKey: "x"}`:                                               {"apiKey", secret},
		`{api_key: "x"}`:                                              {"api_key", secret},
		`{"X-API-Key": "x"}`:                                          {"X-API-Key", secret},
		`{authorization: "x"}`:                                        {"authorization", secret},
		`{headers: {Authorization: "x"}}`:                             {"headers.Authorization", secret},
		`{token: "x"}`:                                                {"token", secret},
		`{initialQuery: {accessToken: "x"}}`:                          {"initialQuery.accessToken", secret},
		`{brand: {theme: {deep: [{clientSecret: "x"}]}}}`:             {"brand.theme.deep.0.clientSecret", secret},
		`{brand: {password: null}}`:                                   {"brand.password", secret},
		`{get apiKey() { throw new Error("called") }}`:                {"apiKey", secret},
		`{brand: {brandName: "svc_live.hunter2.hunter2"}}`:            {"brand.brandName", secret},
		`{brand: {checkoutFooter: "key: svc_live.hunter2"}}`:          {"brand.checkoutFooter", secret},
		`{brand: {logoUrl: "https://a.example/?svc_live.hunter2.x"}}`: {"brand.logoUrl", secret},
		`{extra: ["svc_whsec_hunter2"]}`:                              {"extra.0", secret},
		`{extra: "Bearer hunter2"}`:                                   {"extra", secret},
		`{extra: "Authorization: bearer hunter2hunter2hunter2"}`:      {"extra", secret},
		`{target: "svc_live.hunter2.x"}`:                              {"target", secret},
		`{"svc_live.hunter2.x": 1}`:                                   {"(a name)", secret},
		`{[Symbol("svc_live.hunter2.x")]: 1}`:                         {"(a name)", secret},
		`(() => { const a = {}; a.b = {a, list: [a, "svc_live.hunter2"]}; return {brand: a} })()`: {"brand.b.list.1", secret},
	}
	only := map[string]map[string]rule{
		"mount": {
			`{extra: Array.from({length: 2000}, () => 1)}`:    {"extra.996", form},
			`{assetBase: "https://cdn.example/embeds/v1"}`:    {},
			`{assetBase: "/static/"}`:                         {},
			`{assetBase: "http://localhost:8080/@a/b"}`:       {},
			`{styleNonce: "q83v+/==-_"}`:                      {},
			`{assetBase: "https://me:hunter2@cdn.example/"}`:  {"assetBase", dir},
			`{assetBase: "https://cdn.example/?hunter2"}`:     {"assetBase", dir},
			`{assetBase: "https://cdn.example/#a"}`:           {"assetBase", dir},
			`{assetBase: "javascript:hunter2"}`:               {"assetBase", dir},
			`{assetBase: "data:text/css,"}`:                   {"assetBase", dir},
			`{assetBase: "http://"}`:                          {"assetBase", dir},
			`{styleNonce: ""}`:                                {"styleNonce", form},
			`{styleNonce: "a\"b"}`:                            {"styleNonce", form},
			`{styleNonce: 7}`:                                 {"styleNonce", form},
			`{embedUrl: "https://a.example/embed/v1/events"}`: {"embedUrl", unknown},
			`{title: "Tickets"}`:                              {"title", unknown},
		},
		"mountIframe": {
			`{title: "Concerts"}`: {},
			`{embedUrl: "https://a.example:8443/base/embed/v1/events"}`: {},
			`{title: ""}`:                                                {"title", line + "200 characters"},
			`{embedUrl: undefined}`:                                      {"embedUrl", embed},
			`{embedUrl: "/embed/v1/events"}`:                             {"embedUrl", embed},
			`{embedUrl: "http://a.example/embed/v1/events"}`:             {"embedUrl", embed},
			`{embedUrl: "https://a.example/embed/v1/events/"}`:           {"embedUrl", embed},
			`{embedUrl: "https://a.example/embed/v1/events?origin=x"}`:   {"embedUrl", embed},
			`{embedUrl: "https://a.example/embed/v1/events#x"}`:          {"embedUrl", embed},
			`{embedUrl: "https://a.example/?/embed/v1/events"}`:          {"embedUrl", embed},
			`{embedUrl: "https://a.example/embed/v1/xevents"}`:           {"embedUrl", embed},
			`{embedUrl: "https://a.example/xembed/v1/events"}`:           {"embedUrl", embed},
			`{embedUrl: "https://me:hunter2@a.example/embed/v1/events"}`: {"embedUrl", embed},
			`{embedUrl: "https://A.example/embed/v1/events"}`:            {"embedUrl", embed},
			`{embedUrl: "https://a.example:443/embed/v1/events"}`:        {"embedUrl", embed},
			`{embedUrl: "https://a.example/x/../embed/v1/events"}`:       {"embedUrl", embed},
			`{embedUrl: " https://a.example/embed/v1/events"}`:           {"embedUrl", embed},
			`{embedUrl: new URL("https://a.example/embed/v1/events")}`:   {"embedUrl", embed},
			`{assetBase: "/"}`:                                           {"assetBase", unknown},
			`{styleNonce: "abc"}`:                                        {"styleNonce", unknown},
		},
	}
	for name, rules := range only {
		maps.Copy(rules, both)
		for options, want := range rules {
			iframe := map[bool]string{true: "true", false: "false"}[name == "mountIframe"]
			got := p.Text(mounting + `("` + name + `", ` + options + `, ` + iframe + `)`)
			expected := mounted
			if want.path != "" {
				expected = "TypeError: ServiceEmbedsV1: " + want.path + " " + want.reason
			}
			if got != expected {
				t.Errorf("%s with %s: %s, not %s", name, options, got, expected)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("%s with %s repeats a value", name, options)
			}
		}
	}
	for _, options := range []string{`undefined`, `null`, `7`, `[]`, `"svc_live.x"`} {
		is.New(t).True(strings.HasPrefix(p.Text(`(() => { try { ServiceEmbedsV1.mount(`+options+`) } catch (error) {
			return error.name + ": " + error.message } })()`), "TypeError: ServiceEmbedsV1: "))
	}
}

// A target has one widget at a time. What is destroyed is gone, destroyed once more or refreshed, it stays so, and the
// target takes another.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	browser := newSite(t, sitePage{frame: callingFrame})
	for _, name := range []string{"mount", "mountIframe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			p := browser.open(t)
			p.Text(`(window.calls = [], window.start = target => ServiceEmbedsV1.` + name + `({ target,
				transport: async (...call) => (calls.push(call), ` + eventsOf + `),
				` + map[string]string{"mountIframe": `embedUrl: document.scripts[0].src.replace("embeds/v1/service.js",
				"embed/v1/events")`}[name] + ` }), "")`)
			const try = `(() => { try { start("#tickets"); return "mounted" } catch (error) { return error.message } })()`
			p.Text(`(window.first = start("#tickets"), window.second = start("#more"), "")`)
			is.Equal(p.Text(try), "ServiceEmbedsV1: target has a widget")
			is.Equal(p.Text(`document.querySelectorAll("#tickets > *, #more > *").length`), "2")
			p.Text(`(first.destroy(), first.destroy(), "")`)
			is.Equal(p.Text(`document.querySelectorAll("#tickets > *").length`), "0")
			is.Equal(p.Text(`document.querySelectorAll("#more > *").length`), "1") // The other one is untouched.
			is.Equal(p.Text(`await first.refresh()`), "undefined")
			is.Equal(p.Text(`document.querySelectorAll("#tickets > *").length`), "0")
			is.Equal(p.Text(try), "mounted")
			p.Text(`(document.querySelector("#tickets").textContent = "", "")`) // The page removes it by itself.
			is.Equal(p.Text(try), "mounted")
		})
	}
}

// mount is in a shadow tree, with the colors of the brand and of readable text on them, as its stylesheet uses them.
func TestTheme(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{}).open(t)
	for _, nonce := range []string{"", "abc"} {
		for color, onIt := range map[string]string{
			"#000000": "#ffffff", "#FFFFFF": "#000000", "#ffd400": "#000000", "#0000ff": "#ffffff", "#757575": "#ffffff",
			"#767676": "#000000", "#ff0000": "#000000", "#c00000": "#ffffff",
		} {
			is := is.New(t)
			got := p.Text(`(() => {
				const brand = { primaryColor: "` + color + `" }
				const options = { target: "#tickets", transport: async () => {}, brand }
				if ("` + nonce + `") options.styleNonce = "` + nonce + `"
				const mounted = ServiceEmbedsV1.mount(options)
				const host = document.querySelector("#tickets").firstElementChild
				const style = getComputedStyle(host)
				const values = ["primary", "primary-text", "accent", "accent-text"].map(n => style.getPropertyValue("--brand-" + n))
				const found = [host.shadowRoot.mode, host.shadowRoot.querySelectorAll("style").length, ...values]
				mounted.destroy()
				return found
			})()`)
			is.Equal(got, "open,"+map[string]string{"": "0", "abc": "1"}[nonce]+","+color+","+onIt+",,")
		}
	}
}

// The widget is shown as soon as its stylesheet has loaded, or has failed, and is not seen without it.
func TestStylesheet(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	const begin = `(window.mounted = ServiceEmbedsV1.mount({ target: "#tickets", ...OPTIONS,
		transport: async () => (` + eventsOf + `) }),
		window.host = document.querySelector("#tickets").firstElementChild, getComputedStyle(host).display)`
	is.Equal(p.Text(strings.Replace(begin, "OPTIONS", "{}", 1)), "none")
	p.Wait(`getComputedStyle(host).display !== "none"`)
	is.Equal(p.Text(`host.shadowRoot.querySelector("link").sheet.href`),
		p.Text(`document.scripts[0].src.replace("service.js", "widget.css")`))
	p.Wait(`host.shadowRoot.textContent.includes("Ọ̀ṣun Night")`)
	p.Text(`(mounted.destroy(), window.setTimeout = () => 0, "")`) // It waits for no time to pass.
	is.Equal(p.Text(strings.Replace(begin, "OPTIONS", `{ assetBase: "https://localhost:1/nothing" }`, 1)), "none")
	p.Wait(`getComputedStyle(host).display !== "none"`)
	is.Equal(p.Text(`host.shadowRoot.querySelector("link").href`), "https://localhost:1/nothing/widget.css")
}

// Two shops on one origin have stores of their own: what a buyer chose in one is not shown by the other, and is still
// there in the first.
func TestShopsOfOneOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitePage{served: func(w http.ResponseWriter, r *http.Request) {
		var call struct{ Operation string }
		_ = json.NewDecoder(r.Body).Decode(&call)
		for _, operation := range operations {
			if operation.name == call.Operation {
				_, _ = io.WriteString(w, operation.envelope)
			}
		}
	}})
	for name, shops := range map[string][2]string{
		"two proxies": {
			`"#tickets", ServiceEmbedsV1.proxyTransport("/a")`, `"#tickets", ServiceEmbedsV1.proxyTransport("/b")`,
		},
		"two targets":              {`"#tickets", own`, `"#more", own`},
		"a proxy and another":      {`"#tickets", ServiceEmbedsV1.proxyTransport("/a")`, `"#tickets", own`},
		"two pages of a transport": {`"#tickets", own`, `(history.pushState(0, "", "/b"), "#tickets"), own`},
		"a proxy with another path": {
			`"#tickets", ServiceEmbedsV1.proxyTransport("/?a")`, `"#tickets", ServiceEmbedsV1.proxyTransport("/?b")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.open(t)
			p.Text(`(window.own = (...call) => ServiceEmbedsV1.proxyTransport("/own")(...call),
				window.begin = (target, transport) => { window.mounted = ServiceEmbedsV1.mount({ target, transport }) },
				window.tree = () => document.querySelector("#tickets > div, #more > div").shadowRoot,
				window.button = name => [...tree().querySelectorAll("button")]
					.find(each => (each.getAttribute("aria-label") ?? each.textContent).includes(name)), "")`)
			p.Text(`(begin(` + shops[0] + `), "")`)
			p.Wait(`button("Night")`)
			p.Text(`(button("Night").click(), "")`)
			p.Wait(`button("Add one")`)
			p.Text(`(button("Add one").click(), mounted.destroy(), begin(` + shops[1] + `), "")`)
			p.Wait(`button("Night")`) // the list
			p.Text(`(mounted.destroy(), history.replaceState(0, "", "/"), begin(` + shops[0] + `), "")`)
			p.Wait(`button("Remove one")`)
		})
	}
}

// What cannot be rendered leaves nothing in the page.
func TestFailedRendering(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	for _, name := range []string{"mount", "mountIframe"} {
		is.Equal(p.Text(`(() => {
			const original = Element.prototype.attachShadow
			Element.prototype.attachShadow = () => { throw new Error("broken") }
			try { return `+mounting+`("`+name+`", {}, `+map[string]string{"mount": "false", "mountIframe": "true"}[name]+`) +
				" " + document.querySelector("#tickets").childNodes.length
			} finally { Element.prototype.attachShadow = original }
		})()`), map[string]string{"mount": "Error: broken 0", "mountIframe": "refresh,destroytrue0 0"}[name])
	}
}

// A page with an element named currentScript, which then is document.currentScript, has the SDK all the same.
func TestClobbering(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{}).open(t)
	is.Equal(p.Text(`await (async () => {
		const named = document.createElement("form")
		named.name = "currentScript"
		document.body.append(named)
		const frame = document.body.appendChild(document.createElement("iframe"))
		const inner = frame.contentDocument
		inner.body.append(named.cloneNode())
		await new Promise(loaded => {
			const script = inner.createElement("script")
			script.src = document.scripts[0].src
			script.onload = loaded
			inner.body.append(script)
		})
		return inner.currentScript.nodeName + frame.contentWindow.ServiceEmbedsV1.version
	})()`), "FORM1.0.0")
}
