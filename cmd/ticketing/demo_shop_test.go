package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
)

// buyerAt is a browser's session at the shop of a demo.
type buyerAt struct {
	t      *testing.T
	demo   demoAt
	cookie *http.Cookie
}

// visit begins a session at the shop of a demo.
func (d demoAt) visit(t *testing.T) buyerAt {
	t.Helper()
	is := is.New(t)
	request, err := http.NewRequestWithContext(soon(t), http.MethodGet, d.ShopURL+"/", http.NoBody)
	is.NoErr(err)
	response, err := http.DefaultTransport.RoundTrip(request)
	is.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	is.Equal(response.StatusCode, http.StatusOK)
	return buyerAt{t, d, response.Cookies()[0]}
}

// begin sends a request of the session without its body, once the shop is ready to read it. The function that it
// returns sends the body and returns the answer.
func (b buyerAt) begin(path, body string) (finish func() (status int, answer string)) {
	b.t.Helper()
	is := is.New(b.t)
	address := strings.TrimPrefix(b.demo.ShopURL, "http://")
	connection, err := new(net.Dialer).DialContext(b.t.Context(), "tcp", address)
	is.NoErr(err)
	b.t.Cleanup(func() { _ = connection.Close() })
	is.NoErr(connection.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nOrigin: %s\r\n"+
		"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		path, address, b.cookie, b.demo.ShopURL, len(body))
	is.NoErr(err)
	answers := bufio.NewReader(connection)
	line, err := answers.ReadString('\n')
	is.NoErr(err)
	is.True(strings.Contains(line, "100 Continue"))
	_, err = answers.ReadString('\n')
	is.NoErr(err)
	return func() (int, string) {
		b.t.Helper()
		_, err := io.WriteString(connection, body)
		is.NoErr(err)
		response, err := http.ReadResponse(answers, nil)
		is.NoErr(err)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		is.NoErr(err)
		return response.StatusCode, string(text)
	}
}

// basket returns the bodies that pay for a ticket and buy it.
func (d demoAt) basket(key string) (pay, buy string) {
	purchase := fmt.Sprintf(`"idempotencyKey":%q,"eventId":%q,"lines":[{"tier":"GENERAL_ADMISSION","quantity":1,`+
		`"expectedUnitPrice":"5000.00","currency":"NGN"}]`, key, d.EventID)
	return "{" + purchase + `,"agreed":true}`,
		`{"operation":"checkout.create","payload":{` + purchase + `,"buyer":{"email":"ada@example.com"}}}`
}

// After SIGTERM a purchase at the demo's shop ends as any other request in flight: the shop calls an API that still
// sells, and the buyer has the order.
func TestDemoShopDrains(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	p, at := newShell(t).demo("--log-level", "info")
	visitor := at.visit(t)
	pay, buy := at.basket("purchase-0001")
	status, _ := visitor.begin("/pay", pay)()
	is.Equal(status, http.StatusOK)
	finish := visitor.begin("/tickets", buy)
	p.signal(syscall.SIGTERM)
	p.tellsNow("draining")
	for _, address := range []string{at.WebOrigin, at.ShopURL} { // Neither accepts a new connection.
		is.True(closes(t.Context(), strings.TrimPrefix(address, "http://")))
	}
	status, answer := finish()
	is.Equal(status, http.StatusCreated)
	var order struct{ Data struct{ Status string } }
	is.NoErr(json.Unmarshal([]byte(answer), &order))
	is.Equal(order.Data.Status, "CONFIRMED")
	is.Equal(p.wait(), 0)
}
