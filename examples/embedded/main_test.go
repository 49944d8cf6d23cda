package main_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	embedded "github.com/floatgate/ticketing/examples/embedded"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// host is the running program.
type host struct {
	t      *testing.T
	origin string
	lines  chan string // its log lines; the buffer is larger than a test needs
	stop   func() error
}

func start(t *testing.T, database string, more ...string) *host {
	t.Helper()
	settings := map[string]string{"APP_DATABASE": database, "APP_ADDR": "127.0.0.1:0"}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	ctx, cancel := context.WithCancel(t.Context())
	output, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := embedded.Run(ctx, func(name string) string { return settings[name] }, stderr)
		_ = stderr.CloseWithError(err)
		ended <- err
	}()
	h := &host{t: t, lines: make(chan string, 1000)}
	go func() {
		defer close(h.lines)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			h.lines <- lines.Text()
		}
	}()
	h.stop = func() error {
		cancel()
		return <-ended
	}
	h.origin = h.until("listening on ")
	return h
}

// until reads the log up to a line with a text, and returns what follows the text.
func (h *host) until(text string) string {
	h.t.Helper()
	for line := range h.lines {
		if _, rest, found := strings.Cut(line, text); found {
			return rest
		}
	}
	h.t.Fatalf("the program ended without %q", text)
	return ""
}

// sell posts a sale to the till.
func (h *host) sell(key, tier, price string) (status int, body string) {
	h.t.Helper()
	form := url.Values{"tier": {tier}, "quantity": {"2"}, "unitPrice": {price}, "email": {"ada@example.com"}}
	return h.send(http.MethodPost, "/door/sales", form.Encode(), "Content-Type", "application/x-www-form-urlencoded",
		"Idempotency-Key", key)
}

func (h *host) send(method, path, body string, headers ...string) (status int, answer string) {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.origin+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	// It follows no redirect.
	response, err := contracttest.Transport(h.t.Error, http.DefaultTransport, nil).RoundTrip(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// beside returns the operator of a host's database, as in an operator's own process.
func beside(t *testing.T, database string) ticketing.Operator {
	t.Helper()
	is := is.New(t)
	text, err := os.ReadFile(database + ".key")
	is.NoErr(err)
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	is.NoErr(err)
	db, err := store.Open(t.Context(), "sqlite:"+database, nil)
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(db.Close()) })
	is.NoErr(db.Migrate(t.Context()))
	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: [][]byte{secret}})
	is.NoErr(err)
	return svc.As(ticketing.Staff("test"))
}

// onlyCompany returns the one company of a database.
func onlyCompany(t *testing.T, op ticketing.Operator) ticketing.Company {
	t.Helper()
	is := is.New(t)
	companies, err := op.ListCompanies(t.Context(), ticketing.CompanyFilter{})
	is.NoErr(err)
	is.Equal(len(companies.Items), 1) // a second start creates no second company
	return companies.Items[0]
}

// issueKey verifies the ledger, and issues an API key.
func issueKey(t *testing.T, database string) (key string) {
	t.Helper()
	is := is.New(t)
	op := beside(t, database)
	company := onlyCompany(t, op)
	report, err := op.VerifyLedger(t.Context(), company.ID)
	is.NoErr(err)
	is.True(report.OK)
	issued, err := op.IssueAPIKey(t.Context(), company.ID, "storefront", []ticketing.Grant{ticketing.GrantOrderRead})
	is.NoErr(err)
	return issued.Key
}

// The till sells once per key, the host gets the facts, the API returns the order, and a restart loses nothing.
func TestServerWithTicketingInside(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	h := start(t, database)

	status, first := h.sell("till-1-sale-0001", "VIP", "15000.00")
	is.Equal(status, http.StatusOK)
	is.True(strings.Contains(first, `"total":{"amount":"30000.00","currency":"NGN"}`))
	status, again := h.sell("till-1-sale-0001", "VIP", "15000.00")
	is.Equal(status, http.StatusOK)
	is.Equal(again, first)
	is.True(strings.Contains(h.until("msg=sold"), "gross=30000.00"))

	status, _ = h.send(http.MethodGet, "/", "")
	is.Equal(status, http.StatusOK)
	is.NoErr(h.stop())

	h = start(t, database)
	api, err := client.New(h.origin+httpapi.DefaultPrefix, issueKey(t, database), &client.Config{
		Attempts: 1, Transport: contracttest.Transport(t.Error, http.DefaultTransport, nil),
	})
	is.NoErr(err)
	orders, err := api.ListOrders(t.Context(), ticketing.OrderFilter{})
	is.NoErr(err)
	is.Equal(len(orders.Items), 1)
	status, again = h.sell("till-1-sale-0001", "VIP", "15000.00")
	is.Equal(status, http.StatusOK)
	is.Equal(again, first)
	is.NoErr(h.stop())
}

// A sale at the till is delivered to the company's endpoint, signed with the secret that was written at the first
// start. After the next start the secret is the same.
func TestSalesReachTheCompanysSystems(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database, ca := filepath.Join(t.TempDir(), "shop.db"), filepath.Join(t.TempDir(), "receiver.pem")
	receiver := ticketingtest.NewWebhooks(t)
	is.NoErr(os.WriteFile(ca, receiver.RootsPEM(), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var secrets []string
	for n := range 2 {
		h := start(t, database, "APP_WEBHOOK_URL", receiver.URL, "APP_WEBHOOK_DEV_CA", ca)
		secret, err := os.ReadFile(database + ".webhook")
		is.NoErr(err)
		secrets = append(secrets, strings.TrimSpace(string(secret)))
		receiver.SetSecrets(secrets[n])
		status, _ := h.sell(fmt.Sprintf("till-1-sale-000%d", n), "VIP", "15000.00")
		is.Equal(status, http.StatusOK)
		got, err := receiver.Wait(ctx, 2*(n+1)) // order.created and commission.accrued
		is.NoErr(err)
		for _, delivery := range got {
			is.NoErr(delivery.Err)
		}
		is.NoErr(h.stop())
	}
	is.Equal(secrets[0], secrets[1])
	info, err := os.Stat(database + ".webhook")
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o600))
}

// A sale at the till makes one mail with the tickets, also if it is repeated and after a restart. Without a mail server
// it is a file beside the database.
func TestBuyersGetTheirTickets(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	written := func() []string {
		files, err := filepath.Glob(filepath.Join(database+".mail", "*.eml"))
		is.NoErr(err)
		return files
	}
	for range 2 {
		h := start(t, database)
		status, _ := h.sell("till-1-sale-0001", "VIP", "15000.00")
		is.Equal(status, http.StatusOK)
		sent(t, database)
		is.NoErr(h.stop())
		is.Equal(len(written()), 1)
	}
	file, err := os.Open(written()[0])
	is.NoErr(err)
	defer func() { _ = file.Close() }()
	message, err := mail.ReadMessage(file)
	is.NoErr(err)
	is.Equal(message.Header.Get("To"), "<ada@example.com>")
	from, err := mail.ParseAddress(message.Header.Get("From"))
	is.NoErr(err)
	is.Equal(*from, mail.Address{Name: "Freedom Park via Lagos Tickets", Address: "tickets@freedompark.example"})
	subject, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	is.NoErr(err)
	is.True(strings.Contains(subject, "Highlife by the Lagoon"))
}

// With APP_SMTP the mail goes to that server, and no file is written. The address of the sender is the host's.
func TestTicketsGoToTheMailServer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	mails := make(mailServer, 10)
	server := smtp.NewServer(mails)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // It ends with an error when it is closed.
	t.Cleanup(serving.Wait)
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // It may not have begun to serve.
	})

	h := start(t, database, "APP_SMTP", "smtp://"+listener.Addr().String(), "APP_MAIL_FROM", "box@lagos.example")
	status, _ := h.sell("till-1-sale-0001", "VIP", "15000.00")
	is.Equal(status, http.StatusOK)
	sent(t, database)
	is.NoErr(h.stop())
	is.Equal(<-mails, "box@lagos.example to ada@example.com")
	is.Equal(len(mails), 0)
	_, err = os.Stat(database + ".mail")
	is.True(errors.Is(err, fs.ErrNotExist))
}

// A URL of a mail server that is malformed stops the start. The error does not repeat it: it may hold a password.
func TestBadMailServerIsRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	settings := map[string]string{
		"APP_DATABASE": filepath.Join(t.TempDir(), "shop.db"), "APP_ADDR": "127.0.0.1:0",
		"APP_SMTP": "smtps://tickets:hush@mail.example:port",
	}
	err := embedded.Run(t.Context(), func(name string) string { return settings[name] }, io.Discard)
	is.True(err != nil)
	is.True(!strings.Contains(err.Error(), "hush"))
}

// sent waits until every ticket mail of the database was sent.
func sent(t *testing.T, database string) {
	t.Helper()
	is := is.New(t)
	op := beside(t, database)
	company := onlyCompany(t, op)
	for poll := time.NewTicker(10 * time.Millisecond); ; <-poll.C {
		page, err := op.ListNotifications(t.Context(), company.ID, ticketing.NotificationFilter{}, ticketing.PageParams{})
		is.NoErr(err)
		if len(page.Items) > 0 && page.Items[0].Status != ticketing.NotificationPending {
			is.Equal(page.Items[0].Status, ticketing.NotificationSent)
			is.Equal(len(page.Items), 1)
			return
		}
	}
}

// mailServer is a real SMTP server on this machine, and gets who mailed whom.
type mailServer chan string

func (m mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{mails: m}, nil }

type mailSession struct {
	mails    mailServer
	from, to string
}

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	if err == nil {
		s.mails <- s.from + " to " + s.to
	}
	return err
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

// An address that is not allowed for webhooks stops the start, and leaves no secret.
func TestBadWebhookAddressIsRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	settings := map[string]string{
		"APP_DATABASE": database, "APP_ADDR": "127.0.0.1:0", "APP_WEBHOOK_URL": "https://127.0.0.1/hooks",
	}
	err := embedded.Run(t.Context(), func(name string) string { return settings[name] }, io.Discard)
	is.True(errors.Is(err, ticketing.CodeInvalidRequest))
	_, err = os.Stat(database + ".webhook")
	is.True(errors.Is(err, fs.ErrNotExist))
}

func TestTillSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := start(t, filepath.Join(t.TempDir(), "shop.db"))
	t.Cleanup(func() { _ = h.stop() })
	tests := map[string]struct {
		key, tier, price, says string
		status                 int
	}{
		"no key":         {"", "VIP", "15000.00", "IDEMPOTENCY_KEY_REQUIRED", http.StatusBadRequest},
		"no amount":      {"sale-0001", "VIP", "1e3", "unitPrice", http.StatusBadRequest},
		"another price":  {"sale-0002", "VIP", "14999.99", "INVENTORY_UNAVAILABLE", http.StatusConflict},
		"another tier":   {"sale-0003", "vip", "15000.00", "INVENTORY_UNAVAILABLE", http.StatusConflict},
		"a tier too far": {"sale-0004", strings.Repeat("V", 61), "15000.00", "INVALID_REQUEST", http.StatusBadRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			status, body := h.sell(tt.key, tt.tier, tt.price)
			is.Equal(status, tt.status)
			is.True(strings.Contains(body, tt.says))
		})
	}
}

// Under the API's prefix every path is handled by the API, none by a redirect of the host's mux.
func TestAPIIsMountedBeforeTheMux(t *testing.T) {
	t.Parallel()
	h := start(t, filepath.Join(t.TempDir(), "shop.db"))
	t.Cleanup(func() { _ = h.stop() })
	event := httpapi.DefaultPrefix + "/events/" + uuid.NewString()
	tests := map[string]struct {
		path, says string
		status     int
	}{
		"a tier with two slashes":  {event + "/inventory/A%2F%2FB", "AUTHENTICATION_FAILED", http.StatusUnauthorized},
		"a path that is not clean": {httpapi.DefaultPrefix + "//events", "NOT_FOUND", http.StatusNotFound},
		"the prefix itself":        {httpapi.DefaultPrefix, "NOT_FOUND", http.StatusNotFound},
		"a longer neighbour":       {httpapi.DefaultPrefix + "2/events", "404 page not found", http.StatusNotFound},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			status, body := h.send(http.MethodDelete, tt.path, "")
			is.Equal(status, tt.status)
			is.True(strings.Contains(body, tt.says))
		})
	}
}

// A company that is not on the first page is found, and not created again.
func TestCompanyIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	is.NoErr(os.WriteFile(database+".key", []byte(strings.Repeat("ab", 32)), 0o600))
	op := beside(t, database)
	const neighbours = 30
	for i := range neighbours {
		_, err := op.CreateCompany(t.Context(), fmt.Sprintf("A neighbour, number %d", i))
		is.NoErr(err)
	}
	for range 2 {
		is.NoErr(start(t, database).stop())
	}
	companies, err := op.ListCompanies(t.Context(), ticketing.CompanyFilter{PageParams: ticketing.PageParams{Limit: 100}})
	is.NoErr(err)
	is.Equal(len(companies.Items), neighbours+1)
}

// A sale of a suspended company is refused as forbidden, not as a conflict of the sale.
func TestTillOfSuspendedCompanyIsForbidden(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	h := start(t, database)
	t.Cleanup(func() { _ = h.stop() })
	op := beside(t, database)
	_, err := op.SuspendCompany(t.Context(), onlyCompany(t, op).ID)
	is.NoErr(err)
	status, body := h.sell("till-1-sale-0001", "VIP", "15000.00")
	is.Equal(status, http.StatusForbidden)
	is.True(strings.Contains(body, "PERMISSION_DENIED"))
}

// Only the owner may read the key. A key that is missing, readable by others, damaged or of another database is neither
// replaced nor used.
func TestSecretKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "shop.db")
	is.New(t).NoErr(start(t, database).stop())
	path := database + ".key"
	key, err := os.ReadFile(path)
	is.New(t).NoErr(err)
	info, err := os.Stat(path)
	is.New(t).NoErr(err)
	is.New(t).Equal(info.Mode().Perm(), os.FileMode(0o600))
	other := []byte(strings.Repeat("ab", 32))
	for _, test := range []struct {
		name, says string
		spoil      func() error
	}{
		{"missing", "has no key", func() error { return os.Remove(path) }},
		{"readable by others", "chmod 600", func() error {
			return errors.Join(os.WriteFile(path, key, 0o600), os.Chmod(path, 0o640))
		}},
		{"cut short", "damaged", func() error {
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, key[:20], 0o600))
		}},
		{"of another database", "do not belong to this database", func() error { return os.WriteFile(path, other, 0o600) }},
	} {
		is := is.New(t)
		is.NoErr(test.spoil())
		settings := map[string]string{"APP_DATABASE": database, "APP_ADDR": "127.0.0.1:0"}
		err := embedded.Run(t.Context(), func(name string) string { return settings[name] }, io.Discard)
		is.True(err != nil)                               // for what is wrong with the key
		is.True(strings.Contains(err.Error(), test.says)) // and says so
	}
}
