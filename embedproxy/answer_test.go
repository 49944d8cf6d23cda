package embedproxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/internal/race"
)

// node is a JSON value whose members keep their order and may repeat.
type node struct {
	name  string // of a member
	raw   string // of a value that is neither
	open  byte   // '{', '[' or 0
	items []*node
}

func parse(text string) *node {
	decoder := jsontext.NewDecoder(strings.NewReader(text))
	var read func(name string) *node
	read = func(name string) *node {
		n := &node{name: name}
		switch kind := decoder.PeekKind(); kind {
		case '{', '[':
			n.open = byte(kind)
			_, _ = decoder.ReadToken()
			for decoder.PeekKind() != '}' && decoder.PeekKind() != ']' {
				member := ""
				if kind == '{' {
					token, _ := decoder.ReadToken()
					member = token.String()
				}
				n.items = append(n.items, read(member))
			}
			_, _ = decoder.ReadToken()
		default:
			value, err := decoder.ReadValue()
			if err != nil {
				panic(err)
			}
			n.raw = string(value)
		}
		return n
	}
	return read("")
}

func (n *node) write(b *bytes.Buffer) {
	if n.open == 0 {
		b.WriteString(n.raw)
		return
	}
	b.WriteByte(n.open)
	for i, item := range n.items {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.open == '{' {
			b.WriteString(strconv.Quote(item.name) + ":")
		}
		item.write(b)
	}
	b.WriteByte(n.open + 2)
}

func (n *node) String() string {
	var b bytes.Buffer
	n.write(&b)
	return b.String()
}

// walk calls visit with each value within n, its parent and its path.
func (n *node) walk(path string, visit func(path string, parent *node, i int)) {
	for i := range n.items {
		at := path + "[" + strconv.Itoa(i) + "]"
		if n.open == '{' {
			at = strings.TrimPrefix(path+"."+n.items[i].name, ".")
		}
		visit(at, n, i)
		n.items[i].walk(at, visit)
	}
}

// at returns the parent and the index of the value at a path.
func (n *node) at(path string) (parent *node, i int) {
	n.walk("", func(at string, p *node, j int) {
		if at == path {
			parent, i = p, j
		}
	})
	if parent == nil {
		panic("there is no " + path)
	}
	return parent, i
}

// rightAnswer is a valid answer, which tests break.
type rightAnswer struct {
	name, route, post string
	status            int
	body              string
	nullable          []string
	tolerated         []string // mutations after which the answer is still valid
}

// answers are valid answers of the API: for the route of each, the post that causes the call.
var answers = []rightAnswer{
	{
		name: "events", route: routeList, post: postList, status: 200, body: goodPage,
		nullable: []string{
			"data[0].description", "data[0].schedule.date", "data[0].schedule.startsAt", "data[0].schedule.endsAt",
			"data[0].schedule.timezone", "data[0].location.name", "data[0].location.venue", "data[0].organizerName",
			"data[0].category",
		},
		tolerated: []string{"data = []", "data[0].ticketCategories = []"},
	},
	{
		name: "event", route: routeEvent, post: postQuote, status: 200, body: goodProof,
		nullable: []string{
			"data.description", "data.schedule.date", "data.schedule.startsAt", "data.schedule.endsAt",
			"data.schedule.timezone", "data.location.name", "data.location.venue", "data.organizerName", "data.category",
		},
		tolerated: []string{"data.ticketCategories = []"},
	},
	{
		name: "inventory", route: routeInventory, post: postInventory, status: 200, body: goodInventory,
		nullable: []string{"data[0].unitPrice"}, tolerated: []string{"data = []"},
	},
	{name: "quote", route: routeQuote, post: postQuote, status: 200, body: goodQuoted},
	{
		name: "order", route: routeCheckout, post: postCheckout, status: 201, body: goodSold,
		nullable: []string{
			"data.buyer.fullname", "data.buyer.phone", "data.branding.logoUrl", "data.branding.checkoutFooter",
			"data.branding.ticketFooter", "data.branding.emailFooter", "data.branding.supportEmail",
		},
	},
}

// isFreeText reports whether a member may be any short text.
func isFreeText(path string) bool {
	for _, end := range []string{
		".title", ".description", ".timezone", ".location.name", ".venue", ".organizerName", ".category.name", ".slug",
		".tier", ".ticketCategories[0]", ".ticketCategories[1]", ".buyer.email", ".fullname", ".phone", ".brandName",
		"Footer", ".supportEmail", "meta.requestId", ".nextCursor",
	} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// mustNotBeEmpty reports whether a member that isFreeText has at least one character.
func mustNotBeEmpty(path string) bool {
	for _, end := range []string{".tier", "]", ".brandName", ".requestId", ".nextCursor"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// rejected checks that a body gives 502 with an id of the proxy's own, and that nothing of the body is in an answer or
// a log.
func rejected(t *testing.T, shop *shop, api *script, test int, what, body string) {
	t.Helper()
	a := answers[test]
	api.send(a.route, a.status, body)
	got := shop.post(t, a.post, "X-Request-Id", "browser-1")
	if got.status != http.StatusBadGateway {
		t.Errorf("status %d for %s of %s", got.status, what, a.name)
		return
	}
	got.failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
	is.New(t).True(got.id() != "upstream-1" && got.id() != "browser-1")
}

// Each member of an answer must occur once, with its type, and no other may occur, at every depth.
func TestAnswersAreClosed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the members of answers")
	for index, test := range answers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			api := &script{}
			shop := open(t, api.remote(t, nil), nil)
			reject := func(what, body string) {
				t.Helper()
				rejected(t, shop, api, index, what, body)
			}
			parse(test.body).walk("", func(path string, _ *node, _ int) {
				change := func(change func(parent *node, i int)) string {
					tree := parse(test.body)
					change(tree.at(path))
					return tree.String()
				}
				if !strings.HasSuffix(path, "]") {
					reject("no "+path, change(func(p *node, i int) { p.items = slices.Delete(p.items, i, i+1) }))
					reject(path+" twice", change(func(p *node, i int) { p.items = append(p.items, p.items[i]) }))
					reject(path+" in upper case", change(func(p *node, i int) {
						p.items[i].name = strings.ToUpper(p.items[i].name)
					}))
				}
				for _, value := range []string{"null", "true", "false", "-1", "1.5", `"other"`, "{}", "[]", `""`, `[null]`} {
					name := path + " = " + value
					body := change(func(p *node, i int) { *p.items[i] = node{name: p.items[i].name, raw: value} })
					null := value == "null" && slices.Contains(test.nullable, path)
					text := strings.HasPrefix(value, `"`) && isFreeText(path) &&
						(value != `""` || !mustNotBeEmpty(path))
					if null || text || slices.Contains(test.tolerated, name) {
						api.send(test.route, test.status, body)
						if got := shop.post(t, test.post); got.status >= 500 {
							t.Errorf("%s: %s", name, got.body)
						}
						continue
					}
					if current := change(func(*node, int) {}); current == body {
						continue
					}
					reject(name, body)
				}
			})
			// An unknown member in each object, also one that a JavaScript engine mistakes for a member of every object.
			for _, name := range []string{"secretMember", "__proto__", "id ", "\\u0069x"} {
				var paths []string
				parse(test.body).walk("", func(path string, p *node, i int) {
					if p.items[i].open == '{' {
						paths = append(paths, path)
					}
				})
				for _, path := range append(paths, "") {
					tree := parse(test.body)
					to := tree
					if path != "" {
						p, i := tree.at(path)
						to = p.items[i]
					}
					to.items = append(to.items, &node{name: name, raw: `"secret"`})
					reject(path+" with "+name, tree.String())
				}
			}
			log := shop.log.String()
			if strings.Contains(log, "secret") || strings.Contains(log, "Member") || !strings.Contains(log, "data") {
				t.Error("the log has a part of a body")
			}
		})
	}
}

// outOfRange are values that break a limit or a form of the contract, by the name of the answer and the path.
var outOfRange = []struct {
	answer, path string
	values       []string
}{
	{"events", "data[0].id", []string{`"x"`, `"6f1c8e0e-5a52-1f6c-9d0c-2f6f2b7f3a11"`, `"{` + eventID + `}"`}},
	{"events", "data[0].object", []string{`"Event"`}},
	{"events", "data[0].title", []string{long(201)}},
	{"events", "data[0].description", []string{long(5001)}},
	{"events", "data[0].status", []string{`"DRAFT"`, `"ENDED"`, `"CANCELLED"`, `"published"`}},
	{"events", "data[0].schedule.date", []string{`"2026-02-30"`, `"2026-2-3"`, `"20260203"`}},
	{"events", "data[0].schedule.startsAt", []string{`"24:00"`, `"9:00"`, `"09:00:00"`, `"09:60"`}},
	{"events", "data[0].schedule.endsAt", []string{`"7:00 PM"`}},
	{"events", "data[0].schedule.timezone", []string{long(101)}},
	{"events", "data[0].location.name", []string{long(501)}},
	{"events", "data[0].location.venue", []string{long(501)}},
	{"events", "data[0].organizerName", []string{long(201)}},
	{"events", "data[0].imageUrl", []string{
		`"http://img.example.com/a.png"`, `"https://u:p@img.example.com/"`, `"https://img.example.com/#a"`,
		`"https://img.example.com/#"`, `"//img.example.com/"`, `"javascript:alert(1)"`, `"data:image/png;base64,AA"`,
		`"https://"`, `"https:\\\\img.example.com"`, `"https://img.example.com/` + strings.Repeat("a", 2000) + `"`,
	}},
	{"events", "data", []string{"[" + goodEvent + "," + strings.Replace(goodEvent, "a.png?w=1", "a.png#x", 1) + "]"}},
	{"events", "data[0].category.id", []string{`"music"`}},
	{"events", "data[0].ticketCategories", []string{"[" + strings.Repeat(`"A",`, 50) + `"A"]`}},
	{"events", "data[0].ticketCategories[0]", []string{long(61), `" A"`, `"A\u0007"`, `""`}},
	{"events", "data[0].createdAt", []string{
		`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.678+00:00"`, `"2026-01-02 03:04:05.678Z"`,
		`"2026-13-02T03:04:05.678Z"`, `"2026-01-02T03:04:05.678z"`, `"2026-01-02T03:04:05,678Z"`,
		`"2026-01-02T3:04:05.6789Z"`, `"yesterday"`,
	}},
	{"events", "data[0].updatedAt", []string{`"2026-01-02"`}},
	{"events", "data", []string{repeated(goodEvent, 101)}},
	{"events", "meta.requestId", []string{`""`, long(129), `"a b"`, `"-a"`, `"a\r\nX: y"`, `"ä"`}},
	{"events", "meta.page.nextCursor", []string{`""`, `"a/b"`, `"a+b"`, `"a="`, `"ä"`, long(513), "null"}},
	{"events", "meta.page.hasMore", []string{"false"}},
	{"events", "meta.page", []string{`{"hasMore":true,"nextCursor":null}`, `{"hasMore":false,"nextCursor":"abc"}`}},
	{"event", "data.status", []string{`"SOLD"`, `"published"`}},
	{"event", "data.id", []string{`"` + otherID + `"`}}, // Another event proves nothing about this one.
	{"event", "meta", []string{`{"requestId":"a","page":{"hasMore":false,"nextCursor":null}}`}},
	{"inventory", "data[0].object", []string{`"tier"`}},
	{"inventory", "data[0].tier", []string{long(61), `""`, `"VIP "`, `"A\nB"`}},
	{"inventory", "data[0].status", []string{`"HIDDEN"`, `"available"`}},
	{"inventory", "data[0].availableQuantity", []string{"1000001", "-1", "1e3", "1.0", "010", "9999999999999", "-0"}},
	{"inventory", "data[0].totalAdmissions", []string{"1000001", "-1"}},
	{"inventory", "data[0].unitPrice.amount", moneyTexts},
	{"inventory", "data[0].unitPrice.currency", []string{`"USD"`, `"ngn"`}},
	{"inventory", "data", []string{repeated(goodTier, 51)}},
	{"inventory", "meta", []string{`{"requestId":"a","page":{"hasMore":false,"nextCursor":null}}`}},
	{"quote", "data.eventId", []string{`"` + otherID + `"`, `"x"`}},
	{"quote", "data.currency", []string{`"USD"`}},
	{"quote", "data.lines", []string{"[]", repeated(firstLine(goodQuote), 51)}},
	{"quote", "data.lines[0].tier", []string{`""`, long(61)}},
	{"quote", "data.lines[0].quantity", []string{"0", "51", "-1"}},
	{"quote", "data.lines[0].unitPrice.amount", moneyTexts},
	{"quote", "data.lines[0].subtotal.amount", moneyTexts},
	{"quote", "data.lines[0].subtotal.currency", []string{`"USD"`}},
	{"quote", "data.lines[0].availableAtPrice", []string{"0", "1000001"}},
	{"quote", "data.total.amount", moneyTexts},
	{"quote", "data.quotedAt", []string{`"now"`}},
	{"order", "data.id", []string{`"` + strings.ToUpper(orderID[:35]) + `g"`}},
	{"order", "data.eventId", []string{`"` + otherID + `"`}},
	{"order", "data.status", []string{`"PENDING"`}},
	{"order", "data.gross.amount", []string{`"5000.01"`, `"5000"`, `"-1"`}},
	{"order", "data.floatDebited.amount", []string{`"4999.99"`}},
	{"order", "data.floatDebited.currency", []string{`"USD"`}},
	{"order", "data.commission.amount.amount", moneyTexts},
	{"order", "data.commission.rate.id", []string{`"x"`}},
	{"order", "data.commission.rate.value", []string{`""`, `"-1"`, `"1e1"`, `"100.01"`, `" 2"`}},
	{"order", "data.commission.rate.unit", []string{`"percent"`, `"FRACTION"`}}, // 2.5 of 1
	{"order", "data.balances.floatAfter.amount", moneyTexts},
	{"order", "data.buyer.email", []string{long(321)}},
	{"order", "data.buyer.fullname", []string{long(201)}},
	{"order", "data.buyer.phone", []string{long(51)}},
	{"order", "data.branding.brandName", []string{`""`, long(121), `"A\u0000"`}},
	{"order", "data.branding.logoUrl", []string{
		`"http://adire.example.com/"`, `"https://localhost/l.png"`, `"https://10.0.0.1/l.png"`,
		`"https://u@adire.example.com/l.png"`, `"https://adire.example.com/l.png#x"`,
		`"https://adire.example.com/` + strings.Repeat("a", 2048) + `"`,
	}},
	{"order", "data.branding.primaryColor", []string{`"#00f"`, `"#00gg00"`, `"0011FF0"`, `"#0011ff"`}},
	{"order", "data.branding.accentColor", []string{`"red"`}},
	{"order", "data.branding.checkoutFooter", []string{long(501)}},
	{"order", "data.branding.ticketFooter", []string{long(501)}},
	{"order", "data.branding.emailFooter", []string{long(501)}},
	{"order", "data.branding.supportEmail", []string{long(255)}},
	{"order", "data.branding.emailMode", []string{`"OWN_SENDER"`}},
	{"order", "data.lines", []string{"[]", repeated(firstLine(goodOrder), 51)}},
	{"order", "data.lines[0].title", []string{long(201)}},
	{"order", "data.lines[0].admissionId", []string{`"x"`}},
	{"order", "data.lines[0].unitPrice.amount", moneyTexts},
	{"order", "data.confirmedAt", []string{`"2026-01-02T03:04:05.6789Z"`}},
	{"order", "data.createdAt", []string{`"2026-01-02T25:04:05.678Z"`}},
}

// moneyTexts are texts that are not amounts in the output format.
var moneyTexts = []string{
	`"-1.00"`, `"+1.00"`, `"1"`, `"1.0"`, `"1.000"`, `"01.00"`, `"00.00"`, `".00"`, `"1,00"`, `"1e3.00"`, `"NaN"`,
	`" 1.00"`, `"1000000000000000.00"`, `"١.00"`, `5000.00`,
}

func long(n int) string { return `"` + strings.Repeat("a", n) + `"` }

// repeated returns a list of the same item.
func repeated(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

// firstLine returns the first of the lines of a resource.
func firstLine(resource string) string {
	p, i := parse(resource).at("lines[0]")
	return p.items[i].String()
}

// replaced returns an answer in which the value at a path is replaced.
func replaced(body, path, value string) string {
	tree := parse(body)
	p, i := tree.at(path)
	*p.items[i] = node{name: p.items[i].name, raw: value}
	return tree.String()
}

func TestAnswersOutOfRange(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the members of answers")
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, test := range outOfRange {
		for _, value := range test.values {
			index := slices.IndexFunc(answers, func(a rightAnswer) bool { return a.name == test.answer })
			what := fmt.Sprintf("%s = %.80s", test.path, value)
			rejected(t, shop, api, index, what, replaced(answers[index].body, test.path, value))
			api.on(answers[index].route, nil)
		}
	}
}

// A value at its limit passes: 15 digits before the point of a gross, 50 lines, the largest numbers.
func TestAnswersAtTheirLimits(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the members of answers")
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	most := `"999999999999999.99"`
	order := replaced(replaced(goodSold, "data.gross.amount", most), "data.floatDebited.amount", most)
	order = replaced(order, "data.lines", repeated(firstLine(goodOrder), 50))
	list := `{"data":` + repeated(goodEvent, 100) + `,"meta":{"requestId":"a","page":` +
		`{"hasMore":false,"nextCursor":null}}}`
	wide := strings.Repeat("\U0001F3B7", 5000) // Lengths count code points.
	escaped := strings.ReplaceAll(goodInventory, `"tier"`, `"\u0074ier"`)
	for _, test := range []struct {
		route, post string
		status      int
		body        string
	}{
		{routeCheckout, postCheckout, 201, order},
		{routeList, postList, 200, list},
		{routeList, postList, 200, replaced(goodPage, "data[0].description", `"`+wide+`"`)},
		{routeList, postList, 200, replaced(goodPage, "data[0]", bareEvent)},
		{routeList, postList, 200, replaced(goodPage, "meta.page.nextCursor", long(512))},
		{routeList, postList, 200, replaced(goodPage, "meta.requestId", long(128))},
		{routeInventory, postInventory, 200, escaped},
		{routeInventory, postInventory, 200, replaced(goodInventory, "data[0].availableQuantity", "1000000")},
		{routeInventory, postInventory, 200, replaced(goodInventory, "data[0].unitPrice", "null")},
		{routeInventory, postInventory, 200, " " + goodInventory + "\r\n"},
		{routeQuote, postQuote, 200, replaced(goodQuoted, "data.eventId", `"`+strings.ToUpper(eventID)+`"`)},
	} {
		api.send(test.route, test.status, test.body)
		if got := shop.post(t, test.post); got.status != test.status {
			t.Errorf("%s: status %d for %.200s: %s", test.route, got.status, test.body, shop.log)
		}
	}
}

// A body that is not JSON of the contract is rejected at each call of each operation, and not logged.
func TestAnswersThatAreNoAnswers(t *testing.T) {
	t.Parallel()
	html := "<html>secret</html>"
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(html))
		}},
		{"HTML as JSON", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, html) }},
		{"HTML of an error", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 503, html) }},
		{"no body", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, "") }},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{"no type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte(goodPage))
		}},
		{"two types", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{"application/json", "text/html"}
			_, _ = w.Write([]byte(goodPage))
		}},
		{"another charset", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=latin1")
			_, _ = w.Write([]byte(goodPage))
		}},
		{"a list", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, `[`+goodProof+`]`) }},
		{"two values", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, goodProof+goodProof) }},
		{"a comment", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, goodProof+"//") }},
		{"invalid UTF-8", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 200, strings.ReplaceAll(goodProof, "Jazz", "\xff"))
		}},
		{"a lone surrogate", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 200, strings.ReplaceAll(goodProof, "Jazz", `\ud800`))
		}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }},
		{"a redirect with a body", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 307, goodRefusal) }},
		{"an error with status 200", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, goodRefusal) }},
		{"another success", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 202, goodProof) }},
		{"a status over 599", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 600, goodRefusal) }},
		{"10 MB", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 200, strings.Repeat(" ", 10<<20)+goodProof)
		}},
		{"10 MB of an error", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 409, strings.Repeat(" ", 10<<20)+goodRefusal)
		}},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[{"secret":`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			connection, _, _ := w.(http.Hijacker).Hijack()
			_, _ = connection.Write([]byte("secret\r\n\r\n"))
			connection.Close()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			api := &script{}
			shop := open(t, api.remote(t, nil), nil)
			calls := 0
			for _, post := range posts {
				for i, route := range post.routes {
					if i > 0 && route == post.routes[0] {
						continue // The second proof is by the same route as the first.
					}
					api.on(route, test.answer)
					shop.post(t, post.body).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
					is := is.New(t)
					is.Equal(api.routes(), post.routes[:i+1]) // Nothing is sent twice, and nothing after it.
					api.on(route, nil)
					calls++
				}
			}
			lines := shop.log.lines(t)
			if len(lines) != calls || strings.Contains(shop.log.String(), "secret") {
				t.Errorf("the log is %s", shop.log)
			}
		})
	}
}

// A failure has exactly a code and a message, and details of any content.
func TestFailuresAreClosed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the members of answers")
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, test := range []struct{ path, value string }{
		{"error.code", `""`},
		{"error.code", `"conflict"`},
		{"error.code", `"_A"`},
		{"error.code", `"1A"`},
		{"error.code", `"A-B"`},
		{"error.code", `"` + strings.Repeat("A", 101) + `"`},
		{"error.code", "1"},
		{"error.message", `""`},
		{"error.message", long(2001)},
		{"error.message", "null"},
		{"error.details", "null"},
		{"error.details", `[]`},
		{"error.details", `"secret"`},
		{"error.details", `{"a":{"b":1,"b":2}}`},
		{"error", `{"code":"CONFLICT"}`},
		{"error", `{"code":"CONFLICT","message":"No.","secret":1}`},
		{"meta", `{}`},
		{"meta", `{"requestId":"a b"}`},
		{"meta", `{"requestId":"a","page":{"hasMore":false,"nextCursor":null}}`},
	} {
		api.send(routeCheckout, 409, replaced(goodRefusal, test.path, test.value))
		if got := shop.post(t, postCheckout); got.status != 502 {
			t.Errorf("status %d for %s = %.80s", got.status, test.path, test.value)
		}
	}
	for _, body := range []string{
		`{"error":{"message":"No.","code":"A"},"meta":{"requestId":"a"}}`,
		replaced(goodRefusal, "error.details", `{}`),
		replaced(goodRefusal, "error.code", `"`+strings.Repeat("A", 100)+`"`),
		replaced(goodRefusal, "error.message", `"`+strings.Repeat("\U0001F3B7", 2000)+`"`),
	} {
		api.send(routeCheckout, 409, body)
		if got := shop.post(t, postCheckout); got.status != 409 {
			t.Errorf("status %d for %.200s", got.status, body)
		}
	}
}

// A body that lost a byte, has one too many, or has one replaced is rejected if it is no longer JSON. It is never a
// success that a JSON parser would not read.
func TestMangledAnswers(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the members of answers")
	for _, test := range answers[1:] { // The first has the same events as the second.
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			api := &script{}
			proxy := handler(t, embedproxy.Local(api))
			body := strings.Replace(test.body, `"object"`, ` "\u006fbject" `, 1)
			mangled := func(at int, with string, cut int) {
				changed := body[:at] + with + body[at+cut:]
				api.send(test.route, test.status, changed)
				got := serve(t, proxy, []byte(test.post))
				if got.status != 502 && !jsontext.Value(changed).IsValid() {
					t.Errorf("status %d for %s", got.status, changed)
				}
			}
			mangled(0, "", 0)
			for at := range body {
				mangled(at, "", 1)
				for _, with := range []string{",", `"`, "\x01", "\xff", "0", "\\"} {
					mangled(at, with, 0)
				}
				api.got()
			}
		})
	}
}
