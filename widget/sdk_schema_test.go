package widget_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// callingFrame is a frame's document that calls what the test wants. It answers nothing else.
const callingFrame = `
	const calls = new Map()
	let number = 0
	let port
	const post = message => port.postMessage(message)
	const ask = (operation, payload) => new Promise(resolve => {
		post({ number: ++number, type: 'call', re: 0, value: { operation, payload } })
		calls.set(number, resolve)
	})
	const received = []
	addEventListener('message', event => {
		port = event.ports[0]
		port.onmessage = ({ data }) => { received.push(data); calls.get(data.re)?.(data) }
	})
	parent.postMessage({ type: 'ServiceEmbedsV1.ready', nonce: crypto.randomUUID() }, '*')`

// mutant is an envelope with one change, and the path of the member that the change breaks; empty: it breaks none.
type mutant struct{ name, text, path string }

// mutants returns an envelope once for each member without it, with a value of another type there, and for each object
// with a member more.
func mutants(t *testing.T, envelope string) []mutant {
	t.Helper()
	var root any
	is.New(t).NoErr(json.Unmarshal([]byte(envelope), &root))
	all := []mutant{
		{"whole", envelope, ""}, {"null", "null", "the value"}, {"a text", `"x"`, "the value"}, {"a list", "[]", "the value"},
	}
	add := func(name, path string) { all = append(all, mutant{name + " " + path, asJSON(t, root), path}) }
	var walk func(value any, path string)
	walk = func(value any, path string) {
		switch value := value.(type) {
		case map[string]any:
			at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
			for _, name := range []string{"floatDebited", "createdAt", "__proto__", "constructor"} {
				value[name] = "x"
				add("with", at(name))
				delete(value, name)
			}
			for _, name := range slices.Sorted(maps.Keys(value)) {
				kept := value[name]
				delete(value, name)
				add("without", at(name))
				for _, other := range []any{[]any{map[string]any{}}, map[string]any{"x": 1}, 1.5, true, strings.Repeat("x", 5001)} {
					if _, same := kept.(bool); same && other == any(true) {
						continue
					}
					value[name] = other
					add(fmt.Sprintf("%.9v as", other), at(name))
				}
				value[name] = kept
				walk(kept, at(name))
			}
		case []any:
			for i, each := range value {
				walk(each, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	walk(root, "")
	return all
}

// The browser schemas are closed and complete: a member more, a member less or one of another type, at any depth, is
// refused by its name, so that an order with floatDebited names that (section 4.12, rule 10).
func TestEveryMember(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	for _, operation := range operations {
		is := is.New(t)
		all := mutants(t, operation.envelope)
		is.True(len(all) > 30)
		for i, got := range answers(t, p, f, operation.name, operation.payload, texts(all)) {
			want := all[i]
			var path string
			switch {
			case want.path == "" && got.Type == "result":
				continue
			case got.Value.Code == "INVALID_UPSTREAM_RESPONSE" && got.Value.Status == 502:
				path, _, _ = strings.Cut(strings.TrimPrefix(got.Value.Message, "ServiceEmbedsV1: "), " ")
			}
			// A cursor that is there, or is not, shows in either member; a list names its item.
			switch {
			case want.path == "the value" && path == "the", path == want.path, path == want.path+"[0]",
				want.path == "meta.page.hasMore" && path == "meta.page.nextCursor",
				strings.HasPrefix(path, want.path+"[0]."), path == want.path+".x":
			default:
				t.Errorf("%s: %s is not refused by its name: %+v", operation.name, want.name, got)
			}
			if got.Value.RequestID != nil && strings.Contains(want.path, "requestId") {
				t.Errorf("%s: %s keeps the request id %q", operation.name, want.name, *got.Value.RequestID)
			}
			if strings.Contains(got.Value.Message, "xxxx") {
				t.Errorf("%s: %s repeats the value", operation.name, want.name)
			}
		}
	}
	is.New(t).True(!strings.Contains(p.Text(`logged.join()`), "xxxx"))
	p.IsClean()
}

// The values of each member are held to what section 2 says of it.
func TestValues(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	long := strings.Repeat("é", 200)
	line := orderOf[strings.Index(orderOf, `"lines":[`)+9 : strings.Index(orderOf, `],
		"confirmedAt"`)]
	for _, test := range []struct {
		operation    int
		old          string
		good, broken []string
	}{
		{
			0, `"Ọ̀ṣun Night"`,
			[]string{`""`, `"` + long + `"`, `"` + strings.Repeat("🎫", 200) + `"`},
			[]string{`"` + long + `é"`, `null`},
		},
		{0, `"Drums"`, []string{`null`, `"a\nb"`}, []string{`"` + strings.Repeat(long, 26) + `"`}},
		{0, `"PUBLISHED"`, nil, []string{`"DRAFT"`, `"ENDED"`, `"CANCELLED"`, `"published"`, `["PUBLISHED"]`}},
		{0, `"event"`, nil, []string{`"order"`}},
		{0, `"2026-12-01"`, []string{`null`}, []string{`"2026-12-1"`, `"01.12.2026"`, `""`}},
		{0, `"19:00"`, []string{`null`, `"00:00"`}, []string{`"24:00"`, `"19:60"`, `"7:00"`, `"19:00:00"`}},
		{
			0, `"https://img.example/a.png?w=2"`,
			[]string{`"https://127.0.0.1:1/"`, `"https://a.b"`, `"HTTPS://a.b?c"`},
			[]string{
				`"http://a.b/"`, `"https://u@a.b/"`, `"https://u:p@a.b/"`, `"https://a.b/#c"`, `"javascript:alert(1)"`,
				`"data:image/png;base64,"`, `"//a.b/"`, `"httpſ://a.b"`,
				`"https:a.b"`, `"https://"`, `"https:///a"`, `"https://a.b\\c"`,
				`" https://a.b/"`, `"https://a.b/ c"`, `"https://a.b/` + strings.Repeat("a", 2000) + `"`, `null`,
			},
		},
		{0, `{"id":"` + eventID + `","name":"Music","slug":"music"}`, []string{`null`}, []string{`{}`}},
		{0, `["GENERAL_ADMISSION"]`, []string{`[]`}, []string{`[1]`, `[["VIP"]]`, `"VIP"`, `["` + long + `"]`}},
		{0, `"id":"` + eventID + `","object"`, nil, []string{
			`"id":"` + strings.Replace(eventID, "-4", "-1", 1) + `","object"`, `"id":"1","object"`,
		}},
		{
			0, `{"hasMore":true,"nextCursor":"abc_-1"}`,
			[]string{`{"hasMore":false,"nextCursor":null}`},
			[]string{
				`{"hasMore":true,"nextCursor":null}`, `{"hasMore":false,"nextCursor":"abc"}`, `{"hasMore":1,"nextCursor":"abc"}`,
				`{"hasMore":true,"nextCursor":"a/b"}`, `{"hasMore":true,"nextCursor":"\u017f\u212a"}`,
				`{"hasMore":true,"nextCursor":""}`,
				`{"hasMore":true,"nextCursor":"` + strings.Repeat("a", 513) + `"}`,
			},
		},
		{
			0, `"req-1"`,
			[]string{`"a"`, `"A.b_c:d-1"`},
			[]string{`""`, `"-a"`, `"a b"`, `"a\u017f"`, `"a\u212a"`, `"<b>"`, `"` + strings.Repeat("a", 129) + `"`},
		},
		{1, `"AVAILABLE"`, []string{`"PAUSED"`, `"SOLD_OUT"`, `"CANCELLED"`}, []string{`"DELETED"`, `""`}},
		{1, `7`, []string{`0`, `1000000`}, []string{`-1`, `1000001`, `1.5`, `"7"`, `null`}},
		{1, someMoney, []string{`null`}, []string{`0`, `"5000.00"`}},
		{
			1, `"5000.00"`,
			[]string{`"0.00"`, `"999999999999999.99"`},
			[]string{
				`"5000"`, `"5000.0"`, `"-1.00"`, `"05000.00"`, `"1e3.00"`, `" 5000.00"`, `"5,000.00"`, `5000`,
				`"9999999999999999.99"`, `"５.00"`,
			},
		},
		{1, `"NGN"`, nil, []string{`"USD"`, `"ngn"`, `null`}},
		{2, `"quantity":1`, nil, []string{`"quantity":0`, `"quantity":51`, `"quantity":"1"`}},
		{2, `"availableAtPrice":7`, []string{`"availableAtPrice":1000000`}, []string{`"availableAtPrice":0`}},
		{2, `"currency":"NGN",
`, nil, []string{`"currency":"USD",
`}},
		{
			2, `"2026-11-23T08:00:00.000Z"`,
			[]string{`"2024-02-29T23:59:59.999Z"`},
			[]string{
				`"2026-11-23T08:00:00Z"`, `"2026-11-23"`, `"2026-13-23T08:00:00.000Z"`, `"2026-11-23T08:00:00.000+01:00"`, `1`,
			},
		},
		{3, `"CONFIRMED"`, []string{`"CANCELLED"`, `"REFUNDED"`}, []string{`"PENDING"`}},
		{3, `"https://img.example/logo.png"`, []string{`null`}, []string{`"http://a.b/"`, `"https://u@a.b/"`}},
		{3, `"#112233"`, []string{`"#abcdef"`}, []string{`"#123"`, `"112233"`, `"red"`, `"#11223344"`, `null`}},
		{3, `"Thanks"`, []string{`null`}, []string{`"` + strings.Repeat("a", 501) + `"`}},
		{3, line, []string{strings.Repeat(line+",", 49) + line}, []string{``, strings.Repeat(line+",", 50) + line}},
	} {
		operation := operations[test.operation]
		is := is.New(t)
		if !strings.Contains(operation.envelope, test.old) {
			t.Fatalf("%s is not in the answer to %s", test.old, operation.name)
		}
		replaced := make([]string, 0, len(test.good)+len(test.broken))
		for _, value := range slices.Concat(test.good, test.broken) {
			replaced = append(replaced, strings.Replace(operation.envelope, test.old, value, 1))
		}
		for i, got := range answers(t, p, f, operation.name, operation.payload, replaced) {
			want := "result"
			if i >= len(test.good) {
				want = "error"
			}
			if got.Type != want {
				t.Errorf("%s: %.80s in place of %.80s is a %s: %s", operation.name, slices.Concat(test.good, test.broken)[i],
					test.old, got.Type, got.Value.Message)
			}
		}
		is.True(len(replaced) > 0)
	}
}

// A quote is of the tickets that were asked for, and its sums are right. An order is of the event that was asked for.
func TestAnswerOfTheQuestion(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	other := strings.Replace(eventID, "0d", "1d", 1)
	second := `,{"tier":"VIP","quantity":3,"unitPrice":{"amount":"0.10","currency":"NGN"},
		"subtotal":{"amount":"0.30","currency":"NGN"},"availableAtPrice":7}],"total":{"amount":"5000.30","currency":"NGN"}`
	two := strings.Replace(quoteOf, `],"total":`+someMoney, second, 1)
	askedTwo := strings.Replace(operations[2].payload, `}]`, `},{"tier":"VIP","quantity":3}]`, 1)
	for _, test := range []struct{ operation, payload, envelope, path string }{
		{"pricing.quote", operations[2].payload, quoteOf, ""},
		{"pricing.quote", askedTwo, two, ""},
		{"pricing.quote", askedTwo, quoteOf, "data.lines"},
		{"pricing.quote", operations[2].payload, two, "data.lines"},
		{"pricing.quote", operations[2].payload, strings.Replace(quoteOf, eventID, other, 1), "data.eventId"},
		{"pricing.quote", strings.Replace(operations[2].payload, "GENERAL", "VIP", 1), quoteOf, "data.lines"},
		{"pricing.quote", strings.Replace(operations[2].payload, `y":1`, `y":2`, 1), quoteOf, "data.lines"},
		{"pricing.quote", askedTwo, strings.Replace(two, `"0.30"`, `"0.31"`, 1), "data.lines[1].subtotal"},
		{"pricing.quote", askedTwo, strings.Replace(two, `"5000.30"`, `"5000.29"`, 1), "data.total"},
		{"checkout.create", operations[3].payload, orderOf, ""},
		{
			"checkout.create", operations[3].payload,
			strings.Replace(orderOf, `"eventId":"`+eventID, `"eventId":"`+other, 1), "data.eventId",
		},
	} {
		got := answers(t, p, f, test.operation, test.payload, []string{test.envelope})[0]
		want := ""
		if test.path != "" {
			want = "ServiceEmbedsV1: " + test.path + " does not match"
		}
		if got.Value.Message != want {
			t.Errorf("%s for %s: %q, not %q", test.envelope, test.payload, got.Value.Message, want)
		}
	}
}

// The console has the name of a member that was refused, with the request id, and never its value (section 4.12, rule
// 10).
func TestRefusalInConsole(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	private := strings.Replace(orderOf, `"gross"`, `"floatDebited":{"amount":"4321.00","currency":"NGN"},"gross"`, 1)
	answers(t, p, f, "checkout.create", operations[3].payload, []string{private, orderOf})
	is.Equal(p.Text(`JSON.stringify(logged)`), `["ServiceEmbedsV1: data.floatDebited is not expected req-4"]`)
}

// The widget shows the largest that the proxy lets through.
func TestMaxima(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	x := func(n int) string { return strings.Repeat("🎫", n) }
	link := "https://img.example/" + strings.Repeat("a", 2000-len("https://img.example/"))
	largest := strings.NewReplacer(
		`"Ọ̀ṣun Night"`, `"`+x(200)+`"`, `"Drums"`, `"`+x(5000)+`"`, `"Africa/Lagos"`, `"`+x(100)+`"`,
		`"Lagos"`, `"`+x(500)+`"`,
		`"Hall 1"`, `"`+x(500)+`"`, `"Adire"`, `"`+x(200)+`"`, `"Music"`, `"`+x(1000)+`"`, `"music"`, `"`+x(1000)+`"`,
		`"GENERAL_ADMISSION"`, strings.Repeat(`"`+x(60)+`",`, 49)+`"`+x(60)+`"`, `https://img.example/a.png?w=2`, link,
		`abc_-1`, strings.Repeat("a", 512), `req-1`, strings.Repeat("a", 128),
	).Replace(eventsOf)
	for _, got := range answers(t, p, f, "events.list", `{}`, []string{largest}) {
		is.New(t).Equal(got.Value.Message, "")
		is.New(t).Equal(got.Type, "result")
	}
}

// What a host's transport rejects with keeps its status, code, message, request id and wait; what is no such error
// counts as a lost connection. Nothing else crosses.
func TestErrors(t *testing.T) {
	t.Parallel()
	p := newSite(t, sitePage{frame: callingFrame}).open(t)
	f := calling(p)
	for _, test := range []struct{ thrown, crosses string }{
		{
			`Object.assign(new Error("Slow down"), {status: 429, code: "RATE_LIMITED", requestId: "req-9", retryAfter: 7})`,
			`{"status":429,"code":"RATE_LIMITED","message":"Slow down","requestId":"req-9","retryAfter":7}`,
		},
		{
			`{status: 402, code: "PAYMENT_REQUIRED", message: "Card declined", secret: "x"}`,
			`{"status":402,"code":"PAYMENT_REQUIRED","message":"Card declined","requestId":null,"retryAfter":null}`,
		},
		{
			`{status: 500, code: "<b>", message: 7, requestId: "a b", retryAfter: -1}`,
			`{"status":500,"code":"REQUEST_FAILED","message":"","requestId":null,"retryAfter":null}`,
		},
		{
			`new TypeError("Failed to fetch")`,
			`{"status":0,"code":"REQUEST_FAILED","message":"Failed to fetch","requestId":null,"retryAfter":null}`,
		},
		{`null`, `{"status":0,"code":"REQUEST_FAILED","message":"","requestId":null,"retryAfter":null}`},
		{`undefined`, `{"status":0,"code":"REQUEST_FAILED","message":"","requestId":null,"retryAfter":null}`},
		{
			`{ get status() { throw 0 }, message: "m" }`,
			`{"status":0,"code":"REQUEST_FAILED","message":"","requestId":null,"retryAfter":null}`,
		},
		{`"svc"`, `{"status":0,"code":"REQUEST_FAILED","message":"","requestId":null,"retryAfter":null}`},
		{
			`{status: 99999, code: "A", message: "m", retryAfter: 1e9}`,
			`{"status":0,"code":"REQUEST_FAILED","message":"m","requestId":null,"retryAfter":null}`,
		},
		{
			`{status: 503, code: "A_B1", message: "m", retryAfter: 1e9}`,
			`{"status":503,"code":"A_B1","message":"m","requestId":null,"retryAfter":86400}`,
		},
	} {
		is := is.New(t)
		p.Text(`(answer = () => { throw ` + test.thrown + ` }, "")`)
		is.Equal(f.Text(`await ask("events.list", {}).then(({ type, value }) => {
			const { status, code, message, requestId, retryAfter, ...rest } = value
			return type + Object.keys(rest) + JSON.stringify({ status, code, message, requestId, retryAfter })
		})`), "errorname"+test.crosses)
	}
}

// calling mounts a frame with the document of callingFrame, whose calls the page's function answer answers.
func calling(p *browsertest.Page) browsertest.Frame {
	p.Text(`(window.answer = () => null, window.asked = [], window.logged = [],
		console.error = (...words) => { logged.push(words.join(" ")) }, window.mounted = ServiceEmbedsV1.mountIframe({
		target: "#tickets", embedUrl: document.scripts[0].src.replace("embeds/v1/service.js", "embed/v1/events"),
		transport: async (...call) => (asked.push(call), answer(...call)),
	}), "")`)
	f := p.Frame.Frame(`document.querySelector("iframe")`)
	f.Wait(`port`)
	return f
}

// crossed is a message that a frame gets.
type crossed struct {
	Type  string `json:"type"`
	Value struct {
		Status    int     `json:"status"`
		Code      string  `json:"code"`
		Message   string  `json:"message"`
		RequestID *string `json:"requestId"`
	} `json:"value"`
}

// answers returns what the frame gets for each of the envelopes.
func answers(
	t *testing.T, p *browsertest.Page, f browsertest.Frame, operation, payload string, envelopes []string,
) []crossed {
	t.Helper()
	p.Text(`(window.envelopes = ` + asJSON(t, envelopes) + `, answer = () => JSON.parse(envelopes.shift()), "")`)
	call := fmt.Sprintf(`ask(%q, %s)`, operation, payload)
	got := evaluated[[]crossed](t, f, fmt.Sprintf(`(async () => {
		const all = []
		for (let i = 0; i < %d; i++) all.push(await %s)
		return all.map(({ type, value }) => ({ type, value: type === "error" ? value : {} }))
	})()`, len(envelopes), call))
	is.New(t).Equal(len(got), len(envelopes))
	return got
}

func texts(all []mutant) (texts []string) {
	for _, each := range all {
		texts = append(texts, each.text)
	}
	return texts
}
