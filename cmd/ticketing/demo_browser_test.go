package main_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// demoAt is what a running demo prints with --json.
type demoAt struct {
	BaseURL, WebOrigin, CompanyID, EventID, APIKey, ShopURL, AuthorityFile string
}

// demo starts a demo and waits until it sells.
func (s *shell) demo(args ...string) (p *process, at demoAt) {
	s.t.Helper()
	p = s.start(append([]string{"demo", "--json", "--addr", "127.0.0.1:0"}, args...)...)
	p.listening()
	line, err := p.stdout.ReadString('\n')
	must(s.t, err)
	must(s.t, json.Unmarshal([]byte(line), &at))
	return p, at
}

// authority returns the certificate of the authority of a demo.
func (d demoAt) authority(t *testing.T) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(d.AuthorityFile)
	must(t, err)
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return cert
}

// A person buys tickets in the demo's shop, over HTTPS: in the page and in the frame, with a mouse, on a phone and by
// keyboard alone. Each purchase is one order, which is paid first, has its mail and is delivered by webhook. Neither
// page breaks a policy, asks another host or has a barrier that axe-core knows.
func TestDemoShop(t *testing.T) {
	t.Parallel()
	browsertest.New(t) // Without a browser the whole test is skipped.
	is := is.New(t)
	sh := newShell(t)
	to := ticketingtest.NewWebhooks(t)
	_, at := sh.demo("--tls", "--rate-limit", "0", "--webhook-allow-private", "--webhook-ca-file", roots(t, to))
	sh.hooked(at.CompanyID, to, "order.created")
	browser := browsertest.New(t, at.authority(t))
	orders := map[string]string{} // by the address of the buyer
	var mu sync.Mutex
	t.Run("buyers", func(t *testing.T) {
		for name, test := range map[string]struct {
			path     string
			size     browsertest.Size
			keyboard bool
		}{
			"page, desk":            {path: "/", size: browsertest.Desktop},
			"page, phone":           {path: "/", size: browsertest.Phone},
			"page, desk, keyboard":  {path: "/", size: browsertest.Desktop, keyboard: true},
			"frame, desk":           {path: "/frame", size: browsertest.Desktop},
			"frame, phone":          {path: "/frame", size: browsertest.Phone},
			"frame, desk, keyboard": {path: "/frame", size: browsertest.Desktop, keyboard: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				p := browser.Open(t, at.ShopURL+test.path, test.size)
				p.OwnOrigins(at.WebOrigin)
				b := buyer{t: t, page: p, widget: p.Frame, keyboard: test.keyboard, picture: strings.ReplaceAll(name, ", ", "-")}
				if test.path == "/frame" {
					b.widget = p.Frame.Frame(`document.querySelector("#tickets iframe")`)
				}
				b.looks("list")
				b.press("Highlife Night")
				b.press("^Add one ticket")
				b.press("^Add one ticket")
				b.looks("event")
				b.press("^Continue$")
				email := b.picture + "@example.com"
				b.enters("Email", email)
				b.looks("details")
				b.press("^Buy for ₦10,000$")
				b.pays(`^Pay ₦10,000 \(demo\)$`)
				b.widget.Role("heading", "^Your order is confirmed$")
				b.looks("success")
				is.Equal(len(b.widget.Roles("image")), 2)
				number := orderNumber.FindStringSubmatch(b.widget.Role("region", "^Tickets").Text(`this.innerText`))
				is.Equal(len(number), 2)
				p.Fits()
				p.IsClean()
				mu.Lock()
				defer mu.Unlock()
				orders[email] = number[1]
			})
		}
	})
	for email, number := range orders {
		found := sh.array("order", "list", at.CompanyID, "--email", email)
		is.Equal(len(found), 1)
		is.Equal(found[0]["id"], number)
		is.Equal(found[0]["gross"], naira("10000.00"))
		mails := sh.mailed(number)
		is.Equal(len(mails), 1)
		is.Equal(mails[0]["status"], "SENT")
	}
	received, err := to.Wait(t.Context(), len(orders))
	is.NoErr(err)
	is.Equal(len(received), len(orders))
	for _, number := range orders {
		is.True(slices.ContainsFunc(received, func(got ticketingtest.Received) bool {
			return got.Err == nil && strings.Contains(string(got.Body), number)
		}))
	}
}

// orderNumber finds the number of an order in what the widget shows.
var orderNumber = regexp.MustCompile(`Order number\s+([0-9a-f-]{36})`)

// buyer is a person at a shop.
type buyer struct {
	t        *testing.T
	page     *browsertest.Page
	widget   browsertest.Frame
	keyboard bool
	picture  string
}

// press activates a button of the widget.
func (b buyer) press(name string) { b.pressIn(b.widget, name) }

func (b buyer) pressIn(in browsertest.Frame, name string) {
	b.t.Helper()
	if b.keyboard {
		in.TabToRole("button", name)
		b.page.Press("\r")
		return
	}
	in.Role("button", name).Click()
}

// enters types into a field of the widget.
func (b buyer) enters(name, text string) {
	b.t.Helper()
	if b.keyboard {
		b.widget.TabToRole("textbox", name)
		b.page.Press(text)
		return
	}
	b.widget.Role("textbox", name).Type(text)
}

// pays pays in the dialog of the shop.
func (b buyer) pays(button string) {
	b.t.Helper()
	b.page.Role("dialog", "^Payment$")
	b.looks("payment")
	b.pressIn(b.page.Frame, button)
}

// looks checks a state for barriers, and saves a picture of it.
func (b buyer) looks(state string) {
	b.t.Helper()
	browsertest.Axe(b.t, b.page)
	if b.widget != b.page.Frame {
		browsertest.Axe(b.t, b.widget)
	}
	b.page.Picture(b.picture + "-" + state)
}
