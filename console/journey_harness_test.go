package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/contracttest"
)

// traveler is a person with a browser. They know only what the pages show them.
type traveler struct {
	*browsertest.Page

	t     *testing.T
	site  *site
	means means
}

// means are the ways in which a person uses the pages.
type means struct {
	keyboard bool // no mouse
	noScript bool // the browser runs no script
}

// bothWays runs a journey by keyboard alone, with script and without it.
func bothWays(t *testing.T, journey func(t *testing.T, by means)) {
	t.Helper()
	for name, by := range map[string]means{
		"by keyboard": {keyboard: true}, "by keyboard and without script": {keyboard: true, noScript: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journey(t, by)
		})
	}
}

// travel opens the address of a link to sign in, such as somebody has sent it.
func (s *site) travel(t *testing.T, browser browsertest.Browser, link string, by means) *traveler {
	t.Helper()
	link = strings.Replace(link, "127.0.0.1", "localhost", 1)
	page, _, _ := strings.Cut(link, "#")
	start := page
	if !by.noScript {
		start = link
	}
	v := &traveler{Page: browser.Open(t, start, browsertest.Desktop), t: t, site: s, means: by}
	if by.noScript {
		_, err := chromedp.Call(v.Context(), emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		is.New(t).NoErr(err)
		v.visit(page)
		v.fill("Link", link)
	}
	v.press("button", "Sign in")
	return v
}

// travelAs is travel for a person of the site.
func (s *site) travelAs(t *testing.T, browser browsertest.Browser, who string, by means) *traveler {
	t.Helper()
	link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[who], Actor: "test"})
	is.New(t).NoErr(err)
	return s.travel(t, browser, s.localhost()+"/sign-in/link#"+link.Token, by)
}

// visit opens an address, as from a bookmark.
func (v *traveler) visit(url string) {
	v.t.Helper()
	v.Do(chromedp.Navigate(url))
}

// turn does something that leads to another page, and waits for that page.
func (v *traveler) turn(act func()) {
	v.t.Helper()
	v.Text(`window.before = true`)
	act()
	v.Wait(`!window.before && document.readyState === "complete"`)
}

// activate clicks on the element with a role and a name, or goes there by Tab and presses Enter.
func (v *traveler) activate(role, name string) {
	v.t.Helper()
	if v.means.keyboard {
		v.tabTo(role, name)
		v.Press("\r")
		return
	}
	v.Role(role, name).Click()
}

// tabStops is how many times at least Tab leads from what has the focus to this element, or 0. It counts no stop within
// a field, such as the month of a date.
const tabStops = `(() => {
	if (document.querySelector(":modal") !== null) return 0
	const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")
	const stops = [...all].filter(e => e === this || e === document.activeElement || e.tabIndex >= 0 &&
		!e.matches(":disabled, [type=radio]") && e.checkVisibility({ visibilityProperty: true }))
	return Math.max(0, stops.indexOf(this) - stops.indexOf(document.activeElement))
})()`

// tabTo presses Tab until the element with a role and a name has the focus, and shows it. It presses as often as it is
// sure to need to before it looks where the focus is.
func (v *traveler) tabTo(role, name string) browsertest.Element {
	v.t.Helper()
	stops, err := strconv.Atoi(v.Role(role, name).Text(tabStops))
	is.New(v.t).NoErr(err)
	v.Press(strings.Repeat("\t", stops))
	return v.TabToRole(role, name)
}

// press activates an element that leads to another page.
func (v *traveler) press(role, name string) {
	v.t.Helper()
	v.turn(func() { v.activate(role, name) })
}

// follow follows links, one after the other, by the beginnings of their names.
func (v *traveler) follow(names ...string) {
	v.t.Helper()
	for _, name := range names {
		v.press("link", "^"+regexp.QuoteMeta(name))
	}
}

// unfold opens a box of the page, if it is closed.
func (v *traveler) unfold(name string) {
	v.t.Helper()
	box := v.Role("DisclosureTriangle", "^"+name)
	if box.Text(`this.parentElement.open`) == "true" {
		return
	}
	v.activate("DisclosureTriangle", "^"+name)
	v.Wait(`[...document.querySelectorAll("details[open] > summary")].some((s) => s.innerText.startsWith("` + name + `"))`)
}

// fill types into a field.
func (v *traveler) fill(label, text string) {
	v.t.Helper()
	name := "^" + regexp.QuoteMeta(label)
	if v.means.keyboard {
		v.tabTo("textbox", name).Text(`this.select()`)
		v.Press(text)
		return
	}
	v.Role("textbox", name).Type(text)
}

// tick chooses a box to tick.
func (v *traveler) tick(name string) {
	v.t.Helper()
	if v.means.keyboard {
		v.tabTo("checkbox", name)
		v.Press(" ")
		return
	}
	v.Role("checkbox", name).Click()
}

// choose chooses one of a list by typing its beginning, which works without a mouse, too.
func (v *traveler) choose(label, option string) {
	v.t.Helper()
	list := v.tabTo("combobox", "^"+label)
	v.Press(option)
	if chosen := list.Text(`this.selectedOptions[0].label`); !strings.HasPrefix(chosen, option) {
		v.t.Fatalf("%s is %q", label, chosen)
	}
}

// prove presses the button of an act that needs a recent sign-in. If theirs is older, the console asks for one, and
// prove takes the code from the mail.
func (v *traveler) prove(button string) {
	v.t.Helper()
	v.press("button", button)
	v.sees("Confirm your identity")
	v.press("button", "^Email me a code")
	v.fill("Code", mailedCode(v.t, v.site.mail(v.t)))
	v.press("button", "^Confirm and continue")
}

var codeInSubject = regexp.MustCompile(`[A-Z0-9]{4}-[A-Z0-9]{4}$`)

func mailedCode(t *testing.T, mail ticketing.Mail) string {
	t.Helper()
	code := codeInSubject.FindString(mail.Subject)
	if code == "" {
		t.Fatalf("the mail %q has no code", mail.Subject)
	}
	return code
}

// reads returns the text of the page, with single spaces.
func (v *traveler) reads() string {
	v.t.Helper()
	return strings.Join(strings.Fields(v.Text(`document.body.innerText`)), " ")
}

// sees checks that the page shows texts.
func (v *traveler) sees(texts ...string) {
	v.t.Helper()
	shown := v.reads()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			v.t.Fatalf("the page does not show %q:\n%s", text, shown)
		}
	}
}

// seesNo checks that the page does not show a text.
func (v *traveler) seesNo(text string) {
	v.t.Helper()
	if shown := v.reads(); strings.Contains(shown, text) {
		v.t.Fatalf("the page shows %q:\n%s", text, shown)
	}
}

// secret returns the only secret on the page, by its form.
func (v *traveler) secret(like *regexp.Regexp) string {
	v.t.Helper()
	found := like.FindAllString(v.reads(), -1)
	if len(found) != 1 {
		v.t.Fatalf("the page shows %d secrets:\n%s", len(found), v.reads())
	}
	return found[0]
}

// staysHere checks that the pages have sent requests to no other host, and violated no policy.
func (v *traveler) staysHere() {
	v.t.Helper()
	ok := is.New(v.t)
	ok.Equal(v.Elsewhere(), []string{})
	ok.Equal(len(v.PolicyViolations()), 0)
}

// backend is a program of a company that calls the public API with its key.
type backend struct {
	t   *testing.T
	api http.Handler
	key string
}

func (s *site) backend(t *testing.T, key string) backend {
	t.Helper()
	return backend{t, contracttest.New(t.Error, s.Service, nil), key}
}

// call calls an operation, and returns the status and the text of the response.
func (b backend) call(method, path, body string) (status int, text string) {
	b.t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(b.t.Context(), method,
		httpapi.DefaultPrefix+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+b.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", uuid.NewString())
	}
	b.api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// create calls an operation that creates something, and returns its id.
func (b backend) create(path, body string) (id string) {
	b.t.Helper()
	status, text := b.call(http.MethodPost, path, body)
	if status != http.StatusCreated {
		b.t.Fatalf("%s: %d %s", path, status, text)
	}
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	decode(b.t, text, &created)
	return created.Data.ID
}

// sell creates an event with a tier and sells a ticket of it, and returns the id of the order.
func (b backend) sell(price string) (order string) {
	b.t.Helper()
	event := b.create("/events", `{"title":"Night Market","date":"2027-05-01","startsAt":"18:00","endsAt":"23:00",`+
		`"timezone":"Africa/Lagos","imageUrl":"https://img.example.com/a.png","status":"PUBLISHED"}`)
	b.create("/events/"+event+"/inventory", fmt.Sprintf(`{"tier":"VIP","title":"Entry","unitPrice":%q,"currency":"NGN",`+
		`"isFree":false,"quantity":50,"status":"AVAILABLE"}`, price))
	return b.create("/checkouts", fmt.Sprintf(`{"eventId":%q,"buyer":{"email":"ada@example.com"},"lines":[{"tier":"VIP",`+
		`"quantity":1,"expectedUnitPrice":%q,"currency":"NGN"}]}`, event, price))
}
