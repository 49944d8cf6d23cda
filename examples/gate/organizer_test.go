package main_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/delivery"
	gate "github.com/floatgate/ticketing/examples/gate"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/store/memory"
)

// person works with the pages of the console: they know what a page shows them, and send its forms.
type person struct {
	t      *testing.T
	origin string
	client *http.Client
	cookie *http.Cookie
}

// page is an answer to a person.
type page struct {
	status   int
	location string
	text     string
}

// newPerson signs somebody in by a link, as it is mailed or shown.
func newPerson(t *testing.T, origin, link string) *person {
	t.Helper()
	p := &person{t: t, origin: origin, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	_, token, _ := strings.Cut(link, "#")
	p.post("/sign-in/link", "token", token)
	return p
}

// get opens a page.
func (p *person) get(path string) page {
	p.t.Helper()
	return p.send(http.MethodGet, path, nil)
}

// post sends a form with fields as pairs of name and value. It fails if the form is refused.
func (p *person) post(path string, fields ...string) page {
	p.t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	sent := p.send(http.MethodPost, path, strings.NewReader(values.Encode()))
	if sent.status != http.StatusSeeOther && sent.status != http.StatusOK {
		_, alert, _ := strings.Cut(sent.text, `role="alert"`)
		p.t.Fatalf("%s: %d %.500s", path, sent.status, alert)
	}
	return sent
}

func (p *person) send(method, path string, body io.Reader) page {
	p.t.Helper()
	is := is.New(p.t)
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, body)
	is.NoErr(err)
	r.Header.Set("Origin", p.origin)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	answer, err := p.client.Do(r)
	is.NoErr(err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	is.NoErr(err)
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "ticketing" {
			p.cookie = cookie
		}
	}
	return page{answer.StatusCode, answer.Header.Get("Location"), string(text)}
}

// find returns the part of the page that a pattern names.
func (p page) find(t *testing.T, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("the page has no %s", pattern)
	}
	return found[1]
}

// shows checks that a page shows texts.
func (p page) shows(t *testing.T, texts ...string) {
	t.Helper()
	plain := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(p.text, " ")), " ")
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			t.Errorf("the page does not show %q:\n%s", text, plain)
		}
	}
}

// TestOrganizerNeedsThePagesAndTheGateAlone takes a company from its first link to a payout: an event of 5,000 tickets
// is set up, sold, scanned, refunded where asked, and settled, by the forms of the console and this program alone. A
// shop buys by the public API.
func TestOrganizerNeedsThePagesAndTheGateAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sender, err := delivery.New(nil)
	is.NoErr(err)
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Sender: sender,
	})
	is.NoErr(err)
	pages, err := console.New(svc, nil)
	is.NoErr(err)
	site := httptest.NewServer(pages)
	t.Cleanup(site.Close)
	api := httptest.NewServer(contracttest.New(t.Error, svc, &httpapi.Config{RateLimit: -1}))
	t.Cleanup(api.Close)

	// The first link of the platform is printed by "ticketing staff add".
	chief, err := svc.As(ticketing.Staff("test")).AddStaff(t.Context(), ticketing.AddStaffParams{
		Email: "chief@example.com", Name: "Chief", Role: ticketing.StaffAdministrator,
	})
	is.NoErr(err)
	link, err := svc.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: chief.UserID, Actor: "test"})
	is.NoErr(err)
	staff := newPerson(t, site.URL, console.LinkURL("", link.Token))
	ofPlatform := staff.post("/platform/companies/create", "name", "Oba Nights").location
	company := "/business/" + ofPlatform[strings.LastIndex(ofPlatform, "/")+1:]
	invited := staff.post(company+"/members/invite", "name", "Ngozi", "email", "ngozi@example.com", "role", "OWNER",
		"by", "link")

	// The company is verified, gets a rate and float, and issues its keys.
	owner := newPerson(t, site.URL, invited.find(t, `(/sign-in/link#[^<"]+)`))
	owner.post(company+"/verification/submit", "legalName", "Oba Nights Ltd", "registrationNumber", "RC 1",
		"country", "NG", "address", "1 Marina", "contactName", "Ngozi", "contactEmail", "ngozi@example.com",
		"contactPhone", "+2348012345678")
	staff.post(ofPlatform+"/verification/approve", "expires", time.Now().AddDate(1, 0, 0).Format(time.DateOnly))
	staff.post(ofPlatform+"/commission/schedule", "value", "2.5", "unit", "PERCENT", "effectiveFrom", "")
	staff.post(ofPlatform+"/float/credit", "amount", "10,000,000.00", "reference", "GTB-2026-1", "confirmed", "true")
	key := func(name string, grants ...string) string {
		fields := []string{"name", name}
		for _, grant := range grants {
			fields = append(fields, "grants", grant)
		}
		return owner.post(company+"/api-keys/issue", fields...).find(t, `(svc_live\.[^<"]+)`)
	}
	shop := key("Shop", "COMPANY:checkout:create")
	door := key("Gate", "COMPANY:ticket:validate")

	// An event of 5,000 tickets.
	form := owner.get(company + "/events/new")
	at := owner.post(company+"/events/create", "idempotencyKey", form.find(t, `name="idempotencyKey" value="([^"]+)"`),
		"title", "Night of Fuji", "date", time.Now().AddDate(0, 1, 0).Format(time.DateOnly), "startsAt", "20:00",
		"endsAt", "01:00", "timezone", "Africa/Lagos", "imageUrl", "https://img.example.com/a.png", "status", "DRAFT",
		"ticketCategories", "Balcony").location
	for i := range 5 {
		tier, price := "REGULAR", "5,000.00"
		if i == 4 {
			tier, price = "Balcony", "20,000.00"
		}
		owner.post(at+"/tiers/add", "idempotencyKey", uuid.NewString(), "tier", tier, "title", "Entry", "unitPrice", price,
			"quantity", "1,000", "status", "AVAILABLE")
	}
	owner.post(at + "/publish")
	owner.get(at).shows(t, "Sold 0", "On sale 5,000")

	// The shop sells 240 orders of two tickets.
	const sales = 240
	event := at[strings.LastIndex(at, "/")+1:]
	orders := make([]sale, sales)
	var wait sync.WaitGroup
	for first := range 8 {
		wait.Go(func() {
			for i := first; i < sales; i += 8 {
				var err error
				if orders[i], err = buy(t, api.URL, shop, event, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	_, err = svc.SendWebhooks(t.Context()) // The background work of a server counts what was sold.
	is.NoErr(err)
	owner.get(at).shows(t, "Sold 480", "On sale 4,520", "Gross ₦3,600,000.00")
	owner.get(company+"/events").shows(t, "480 of 5,000", "₦3,600,000.00")

	// Three of them ask for their money back. Staff find and refund them.
	for _, refunded := range orders[:3] {
		staff.get(company+"/orders?email="+url.QueryEscape(refunded.email)).shows(t, refunded.ID[:8])
		staff.post(company+"/orders/"+refunded.ID+"/refund", "reason", "The buyer is ill", "restock", "true")
	}

	// The gate scans the tickets of a hundred orders, one of them twice, and one that was refunded.
	var scans, shown bytes.Buffer
	eventID, err := ticketing.ParseID(event)
	is.NoErr(err)
	for _, sold := range append(orders[3:103:103], orders[3], orders[0]) {
		for _, line := range sold.Lines {
			fmt.Fprintln(&scans, ticketing.FormatAdmissionCode(eventID, line.AdmissionID))
		}
	}
	settings := map[string]string{
		"TICKETING_BASE_URL": api.URL + httpapi.DefaultPrefix, "TICKETING_API_KEY": door, "GATE_EVENT": event,
		"GATE_LOCATION": "Main gate",
	}
	is.NoErr(gate.Run(t.Context(), func(name string) string { return settings[name] }, &scans, &shown, io.Discard))
	is.Equal(strings.Count(shown.String(), "ADMITTED"), 200)
	is.Equal(strings.Count(shown.String(), "ALREADY IN"), 2)
	is.Equal(strings.Count(shown.String(), "REFUNDED"), 2)
	_, err = svc.SendWebhooks(t.Context())
	is.NoErr(err)
	owner.get(at).shows(t, "Sold 474", "On sale 4,526")
	owner.get(company+"/reports?event="+event).shows(t, "Admitted 200")

	// The owner takes the orders home, and the earnings.
	rows, err := csv.NewReader(strings.NewReader(owner.post(company + "/orders/export").text)).ReadAll()
	is.NoErr(err)
	is.Equal(len(rows), 1+sales)
	ended := 0
	for _, row := range rows[1:] {
		if row[1] == "REFUNDED" {
			ended++
		}
	}
	is.Equal(ended, 3)
	owner.post(company+"/settlements/bank-account/set", "bank", "Zenith", "accountNumber", "1234567890",
		"accountName", "Oba Nights Ltd")
	owner.post(company+"/settlements/request", "bankAccountLast4", "7890")
	waiting := staff.get("/platform/settlements")
	waiting.shows(t, "Oba Nights", "₦88,500.00") // 2.5 % of what was sold and not refunded
	staff.post(waiting.find(t, `action="(/platform/settlements/[^"]+/approve)"`))
	owner.get(company+"/settlements").shows(t, "Completed")
	owner.get(company).shows(t, "Earnings ₦0.00")
	staff.post("/platform/books/verify")
	staff.get("/platform/books").shows(t, "Oba Nights")
	checked, err := svc.As(ticketing.Staff("test")).VerifyLedger(t.Context(), uuid.Nil, nil)
	is.NoErr(err)
	is.Equal(len(checked.Problems), 0)
}

// sale is an order as the shop has it.
type sale struct {
	ID    string `json:"id"`
	Lines []struct {
		AdmissionID uuid.UUID `json:"admissionId"`
	} `json:"lines"`

	email string
}

// buy buys two tickets by the public API, every sixth time on the balcony.
func buy(t *testing.T, origin, key, event string, number int) (sale, error) {
	t.Helper()
	tier, price, quantity := "REGULAR", "5000.00", 2
	if number%6 == 0 {
		tier, price = "Balcony", "20000.00"
	}
	email := fmt.Sprintf("buyer%d@example.com", number)
	body := fmt.Sprintf(`{"eventId":%q,"buyer":{"email":%q},"lines":[{"tier":%q,"quantity":%d,"expectedUnitPrice":%q,`+
		`"currency":"NGN"}]}`, event, email, tier, quantity, price)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+httpapi.DefaultPrefix+"/checkouts",
		strings.NewReader(body))
	if err != nil {
		return sale{}, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", uuid.NewString())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return sale{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var made struct{ Data sale }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusCreated {
		return sale{}, fmt.Errorf("checkout %d: %s, %w", number, answer.Status, err)
	}
	made.Data.email = email
	return made.Data, nil
}
