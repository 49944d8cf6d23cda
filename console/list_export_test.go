package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// TestListsAreExported downloads every list whose file has the content of its page. Each file has typed texts as text
// and never as a formula, and each export is in the audit log.
func TestListsAreExported(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sellTo(t, "=ngozi@example.com", 2)
	s.sellTo(t, "ada@example.com", 1)
	s.count(t)
	_, err := s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: "0123456789", AccountName: "Adire",
	})
	ok.NoErr(err)
	_, err = s.staff.RequestSettlement(t.Context(), s.company)
	ok.NoErr(err)
	_, err = s.staff.CreateCompany(t.Context(), "=HYPERLINK(1)")
	ok.NoErr(err)
	_, err = s.staff.CreateCategory(t.Context(), "=Music", "music")
	ok.NoErr(err)
	_, err = s.staff.CreateWebhookEndpoint(t.Context(), s.company, ticketing.WebhookEndpointParams{
		URL:    "https://hooks.example.com/in",
		Events: []ticketing.FactType{ticketing.FactOrderCreated, ticketing.FactTicketValidated},
	})
	ok.NoErr(err)
	for _, tt := range []struct {
		name, who, path string
		body            string // the filter
		rows            int    // -1: as many as there are
		cells           string // of the first row, that are in it in this order
		action          string
		kept            string // the filter as the log has it
	}{
		{
			name: "events", who: viewer, path: events, body: `{"status":"PUBLISHED"}`, rows: 1,
			cells: `3|100|97|0|450.00`, action: "event.export", kept: "PUBLISHED",
		},
		{name: "no events", who: viewer, path: events, body: `{"status":"CANCELLED"}`, action: "event.export"},
		{
			name: "buyers", who: viewer, path: "/business/{companyId}/buyers", rows: 2, cells: `'=ngozi@example.com`,
			action: "buyer.export",
		},
		{
			name: "some buyers", who: viewer, path: "/business/{companyId}/buyers", body: `{"email":"ada"}`, rows: 1,
			cells: `ada@example.com`, action: "buyer.export", kept: "an address",
		},
		{
			name: "sales", who: viewer, path: reports, body: `{"interval":"HOUR","tz":"Asia/Kolkata"}`, rows: 1,
			cells: `+05:30||2|3|450.00|11.25|0.00`, action: "sales.export", kept: "Asia/Kolkata",
		},
		{
			name: "keys", who: viewer, path: "/business/{companyId}/api-keys", rows: -1, cells: `ACTIVE|COMPANY:event:read`,
			action: "api_key.export",
		},
		{name: "deliveries", who: viewer, path: webhooks + "/deliveries", rows: 0, action: "webhook.export"},
		{
			name: "settlements", who: viewer, path: "/business/{companyId}/settlements", rows: 1,
			cells: `11.25|PENDING|6789`, action: "settlement.export",
		},
		{
			name: "members", who: viewer, path: members, rows: -1, cells: `|2026-11-21T09:30:00.000Z|2026-11-21T`,
			action: "member.export",
		},
		{
			name: "mails", who: viewer, path: "/business/{companyId}/mail", body: `{"status":"FAILED"}`,
			action: "notification.export", kept: "FAILED",
		},
		{
			name: "commission", who: viewer, path: "/business/{companyId}/commission", rows: 1, cells: `|ACTIVE|2.5|PERCENT|`,
			action: "commission.export",
		},
		{
			name: "batches", who: viewer, path: "/business/{companyId}/events/" + s.event.ID.String(), rows: 1,
			cells: `VIP|1|VIP|AVAILABLE|150.00|3|100|2026-11-21T`, action: "inventory.export", kept: s.event.ID.String(),
		},
		{
			name: "endpoints", who: viewer, path: webhooks, rows: 1,
			cells:  `https://hooks.example.com/in|ENABLED|order.created ticket.validated||0|0|2026-11-21T`,
			action: "endpoint.export",
		},
		{
			name: "fundings", who: chief, path: "/platform/companies/" + s.company.String() + "/float", rows: -1,
			cells: `|ticketingtest-000001|ticketingtest|1000000.00|1000000.00`, action: "float.export",
		},
		{
			name: "categories", who: chief, path: "/platform/categories", rows: 1, cells: `'=Music|music|ACTIVE`,
			action: "category.export",
		},
		{
			name: "money", who: chief, path: "/platform/money", rows: 1,
			cells:  `2026-10-23T00:00:00+01:00|2026-11-22T00:00:00+01:00|` + s.company.String(),
			action: "money.export",
		},
		{
			name: "books", who: chief, path: "/platform/books", rows: 3, cells: `||||`, // None was ever verified.
			action: "books.export",
		},
		{
			name: "companies", who: chief, path: "/platform/companies", body: `{"prefix":"=H"}`, rows: 1,
			cells: `'=HYPERLINK(1)|ACTIVE|UNVERIFIED`, action: "company.export", kept: "=H",
		},
		{
			name: "companies by float", who: chief, path: "/platform/companies", body: `{"order":"FLOAT"}`, rows: 3,
			cells: `'=HYPERLINK(1)|ACTIVE|||||0.00|ACTIVE`, action: "company.export", kept: "FLOAT",
		},
		{
			name: "open settlements", who: chief, path: "/platform/settlements", rows: 1, cells: `11.25|PENDING|6789`,
			action: "settlement.export",
		},
		{
			name: "staff", who: chief, path: "/platform/staff", rows: -1, cells: `|2026-11-21T09:30:00.000Z|2026-11-21T`,
			action: "staff.export",
		},
	} {
		if tt.body == "" {
			tt.body = "{}"
		}
		got := s.postJSON(t, tt.who, tt.path+"/export", tt.body)
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", tt.name, got.StatusCode, got.text)
			continue
		}
		rows := readCSV(t, got)
		if tt.rows >= 0 && len(rows) != 1+tt.rows || tt.rows < 0 && len(rows) < 2 {
			t.Errorf("%s has the rows %q", tt.name, rows)
		}
		if tt.cells != "" && !strings.Contains(strings.Join(rows[1], "|"), tt.cells) {
			t.Errorf("%s has not %q but %q", tt.name, tt.cells, rows[1])
		}
		var log []struct {
			Action  string
			Changes json.RawMessage
		}
		s.get(t, chief, "/api/v2/platform/audit?limit=100&action="+tt.action).data(t, &log)
		found := false
		for _, one := range log {
			found = found || strings.Contains(string(one.Changes), tt.kept)
		}
		if !found {
			t.Errorf("%s: the log has not %q but %s", tt.name, tt.kept, log)
		}
		var fields []string
		var filter map[string]string
		ok.NoErr(json.Unmarshal([]byte(tt.body), &filter))
		for name, value := range filter {
			fields = append(fields, name, value)
		}
		ok.Equal(s.post(t, tt.who, tt.path+"/export", fields...).text, got.text) // the same by the form of the page
	}
	// Companies of one moment come in the order of their ids.
	ok.True(strings.Contains(s.postJSON(t, chief, "/platform/books/export", "{}").text, ",'=HYPERLINK(1),,,,\n"))
	// While orders of the period are still being counted, the last line says so.
	ok.NoErr(s.books.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{s.company}}); err != nil {
			return err
		}
		return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: s.company, Uncounted: driver.SalesReset})
	}))
	rows := readCSV(t, s.postJSON(t, viewer, reports+"/export", "{}"))
	ok.True(strings.HasPrefix(rows[len(rows)-1][0], "NOT COMPLETE: orders before 2026-11-"))
	// A filter that the list refuses leaves no entry.
	before := len(s.get(t, chief, "/api/v2/platform/audit?limit=100").text)
	for path, body := range map[string]string{
		"/platform/companies": `{"order":"FLOAT","prefix":"a"}`, reports: `{"tz":"Nowhere"}`,
		webhooks + "/deliveries": `{"type":"x"}`,
		events:                   `{"status":"SOLD"}`,
	} {
		ok.Equal(s.postJSON(t, chief, path+"/export", body).StatusCode, http.StatusBadRequest)
	}
	ok.Equal(len(s.get(t, chief, "/api/v2/platform/audit?limit=100").text), before)
	ok.True(s.get(t, chief, "/platform/companies").has("Download as CSV"))
	ok.True(s.get(t, chief, "/platform/companies?order=FLOAT").has("Download as CSV"))
}
