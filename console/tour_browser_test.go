package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// longName is as long as names of companies get, and has no place to break in its middle.
const longName = "The Incorporated Trustees of the Lagos International Festival of Ogene, Highlife and " +
	"Contemporary-Afrobeat-Performances"

// fillPlatform gives the platform of a shop something on every page of it.
func (s *shop) fillPlatform(t *testing.T) {
	t.Helper()
	ok := is.New(t)
	for _, name := range []string{
		longName, "Oja Nights & Sons", "Ìbàdàn Jazz Weekend", "Kano Comedy House", "أمسيات كانو",
	} {
		company, err := s.staff.CreateCompany(t.Context(), name)
		ok.NoErr(err)
		_, err = s.staff.UpdateVerification(t.Context(), company.ID, ticketing.UpdateVerificationParams{
			LegalName: new(name + " Limited"), RegistrationNumber: new("RC 1029384"), Country: new("NG"),
			Address: new("14 Broad Street, Lagos Island, Lagos"), ContactName: new("Adaeze Okonkwo"),
			ContactEmail: new("adaeze@example.com"), ContactPhone: new("+234 802 555 0148"),
		})
		ok.NoErr(err)
		_, err = s.staff.SubmitVerification(t.Context(), company.ID)
		ok.NoErr(err)
		if strings.HasPrefix(name, "Kano") {
			_, err = s.staff.ApproveVerification(t.Context(), company.ID, ticketing.ApprovalParams{
				ExpiresAt: new(s.books.Clock.Now().AddDate(0, 0, 12)),
			})
			ok.NoErr(err)
		}
	}
	for name, slug := range map[string]string{"Live music": "live-music", "Theatre": "theatre", "Comedy": "comedy"} {
		s.post(t, chief, "/platform/categories/create", "name", name, "slug", slug)
	}
	now := s.books.Clock.Now()
	s.post(t, chief, "/platform/companies/{companyId}/float/credit", "amount", "250000.00", "reference", "GTB-0091827")
	_, err := s.staff.CreditFloat(t.Context(), s.company, "GTB-0091827-6654-TRF-LAGOS", 250_000_00)
	ok.NoErr(err)
	s.schedule(t, "3.5", "PERCENT", now.Add(48*time.Hour))
	s.post(t, chief, "/platform/books/verify")
}

// fillShop gives a shop what its company's pages list: orders, dead letters, failed mails, and an open settlement.
func (s *shop) fillShop(t *testing.T) (endpointID, deliveryID, orderID string) {
	t.Helper()
	ok := is.New(t)
	endpoint := s.endpoint(t)
	s.status.Store(http.StatusInternalServerError)
	s.refuses.Store(true)
	order := s.sell(t)
	s.sendAll(t)
	s.sendMails(t)
	s.status.Store(http.StatusOK)
	s.refuses.Store(false)
	for range 6 {
		s.sell(t)
	}
	s.sendAll(t)
	s.sendMails(t)
	s.post(t, owner, settlements+"/bank-account/set", "bank", "Zenith Bank", "accountNumber", "1234567890",
		"accountName", "Adire Concerts Ltd")
	s.post(t, owner, settlements+"/request")
	s.sell(t)
	failed, err := s.staff.ListDeliveries(t.Context(), s.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	ok.NoErr(err)
	return endpoint.ID.String(), failed.Items[len(failed.Items)-1].ID.String(), order.ID.String()
}

// TestFilledPagesOfThePlatformAreAccessible looks at each page of the platform where much waits, and at each page of a
// company as its people see it, with every box open.
func TestFilledPagesOfThePlatformAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	s, browser := newShop(t), browsertest.New(t)
	endpointID, deliveryID, orderID := s.fillShop(t)
	s.fillPlatform(t)
	company, one := "/business/"+s.company.String(), "/platform/companies/"+s.company.String()
	tours := map[string][]string{
		owner: {
			company, company + "/events", company + "/events/new", company + "/events/" + s.event.ID.String(),
			company + "/events/" + s.event.ID.String() + "/edit", company + "/verification", company + "/branding",
			company + "/api-keys", company + "/commission",
			company + "/webhooks", company + "/webhooks/" + endpointID, company + "/webhooks/deliveries",
			company + "/webhooks/deliveries/" + deliveryID, company + "/webhooks/replay?status=FAILED",
			company + "/ledger", company + "/reports", company + "/settlements", company + "/members", company + "/mail",
			company + "/mail/" + orderID,
			company + "/audit", company + "/find?q=ada@example.com", "/account", "/business",
		},
		chief: {
			"/platform", "/platform/cases", "/platform/companies", one, one + "/verification", one + "/float",
			one + "/commission", "/platform/money", "/platform/settlements", "/platform/categories", "/platform/mail-sender",
			"/platform/staff", "/platform/audit", "/platform/books", "/platform/find?q=ada@example.com",
		},
	}
	names := strings.NewReplacer(company, "company", one, "platform-company", endpointID, "endpoint", deliveryID, "one",
		s.event.ID.String(), "event", orderID, "order", "/", "-", "?", "-", "=", "-")
	for who, paths := range tours {
		p := s.open(t, browser, who, "/account", browsertest.Desktop)
		for _, path := range paths {
			p.Text(`location.assign("` + path + `")`)
			p.Wait(`location.pathname + location.search === "` + path + `" && document.readyState === "complete"`)
			p.Text(`document.querySelectorAll("details").forEach(d => d.open = true)`)
			look(t, p, "filled-"+strings.Trim(names.Replace(path), "-"))
		}
		p.IsClean()
	}
}
