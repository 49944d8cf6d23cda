package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/ticketingtest"
)

// hostile is a text that reverses the text after it, and looks like markup and like a formula.
const hostile = "=\u202e<script>alert(1)</script>\"'&"

// checkIsolated checks that a page has a hostile text only as text, and that each direction override in it ends with
// the element around it, so that no word of ours is reversed.
func checkIsolated(t *testing.T, path string, got page) {
	t.Helper()
	if got.has("<script>alert") {
		t.Errorf("%s runs what somebody has typed", path)
	}
	for at := 0; ; at++ {
		next := strings.Index(got.text[at:], "\u202e")
		if next < 0 {
			return
		}
		at += next
		tag := got.text[strings.LastIndex(got.text[:at], "<"):at]
		isolated := strings.Contains(tag, `dir="auto"`) || strings.Contains(tag, `="=`) ||
			strings.Contains(tag, `title="`) || strings.Contains(tag, `class="sr"`)
		// The body of a delivery is a block.
		for _, name := range []string{"<bdi", "<title", "<option", "<textarea", "<code>{"} {
			isolated = isolated || strings.HasPrefix(tag, name)
		}
		if !isolated {
			t.Errorf("%s shows an override within %q", path, tag)
		}
	}
}

// TestHostileTextsStayWithinTheirElements puts a text into everything that a company and its people write, and checks
// every page that shows it.
func TestHostileTextsStayWithinTheirElements(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.writeHostileNames(t, s.openShop(t, 100_000_00))
	_, err := s.staff.RenameCompany(t.Context(), s.company, hostile)
	ok.NoErr(err)
	_, err = s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
		Bank: hostile, AccountNumber: "0123456789", AccountName: hostile,
	})
	ok.NoErr(err)
	_, err = s.staff.UpdateBranding(t.Context(), s.company, ticketing.UpdateBrandingParams{
		BrandName: new(hostile), CheckoutFooter: new(hostile), TicketFooter: new(hostile), EmailFooter: new(hostile),
	})
	ok.NoErr(err)
	_, err = s.staff.AddMember(t.Context(), s.company, ticketing.AddMemberParams{
		Email: "hostile@example.com", Name: hostile, Role: ticketing.RoleViewer,
	})
	ok.NoErr(err)
	_, err = s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
		Email: "hostile@example.com", Name: hostile, Role: ticketing.StaffSupport,
	})
	ok.NoErr(err)
	s.submit(t, hostile)
	_, err = s.staff.RejectVerification(t.Context(), s.company, hostile)
	ok.NoErr(err)
	s.submit(t, hostile)
	for _, route := range console.Pages() {
		path := strings.ReplaceAll(route.Path, "{companyId}", s.company.String())
		if strings.Contains(path, "{") {
			continue
		}
		for _, who := range []string{owner, chief} {
			got := s.get(t, who, path)
			if got.StatusCode != http.StatusOK {
				continue
			}
			checkIsolated(t, path, got)
		}
	}
	csv := s.post(t, owner, "/business/{companyId}/audit/export")
	ok.Equal(csv.StatusCode, http.StatusOK)
	ok.True(!strings.Contains(csv.text, "\n=") && !strings.Contains(csv.text, ",="))
}

// writeHostileNames names a key, a key in rotation, a passkey and a category, and gives the rejection of a settlement
// its reason.
func (s *site) writeHostileNames(t *testing.T, key ticketing.IssuedAPIKey) {
	t.Helper()
	ok, ctx := is.New(t), t.Context()
	s.openSettlement(t, key)
	open, err := s.staff.ListSettlements(ctx, s.company, ticketing.PageParams{})
	ok.NoErr(err)
	_, err = s.staff.RejectSettlement(ctx, open.Items[0].ID, hostile)
	ok.NoErr(err)
	_, err = s.staff.RevokeAPIKey(ctx, key.ID)
	ok.NoErr(err)
	for _, do := range []func(context.Context, uuid.UUID) error{
		func(ctx context.Context, id uuid.UUID) error {
			_, err := s.staff.RevokeAPIKey(ctx, id)
			return err
		},
		func(ctx context.Context, id uuid.UUID) error {
			_, err := s.staff.RotateAPIKey(ctx, id)
			return err
		},
	} {
		issued, err := s.staff.IssueAPIKey(ctx, s.company, hostile, ticketing.AllGrants())
		ok.NoErr(err)
		ok.NoErr(do(ctx, issued.ID))
	}
	for id, who := range map[string]string{"abc": owner, "abcd": chief} {
		_, err := s.Accounts().AddPasskey(ctx, s.users[who], ticketing.PasskeyParams{
			ID: id, Name: hostile, Credential: "{}",
		})
		ok.NoErr(err)
	}
	_, err = s.staff.CreateCategory(ctx, hostile, "hostile")
	ok.NoErr(err)
}

// TestHostileTextsOnPagesOfOneThing does the same for the pages of one event, order, endpoint and delivery.
func TestHostileTextsOnPagesOfOneThing(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.event = s.books.Event(t, func(p *ticketing.CreateEventParams) {
		p.Title, p.Description, p.Location, p.Venue, p.OrganizerName = hostile, hostile, hostile, hostile, hostile
		p.TicketCategories = []string{hostile}
	})
	s.books.Inventory(t, s.event.ID, hostile, 150_00, 10)
	_, err := s.staff.RenameCompany(t.Context(), s.company, hostile)
	ok.NoErr(err)
	_, err = s.staff.UpdateBranding(t.Context(), s.company, ticketing.UpdateBrandingParams{BrandName: new(hostile)})
	ok.NoErr(err)
	endpoint := s.endpoint(t)
	basket := ticketingtest.Basket(s.event.ID, hostile, 150_00, 2)
	basket.Buyer = ticketing.BuyerParams{Email: "ngozi@example.com", Fullname: hostile, Phone: hostile}
	order, err := s.Checkout(t.Context(), s.books.Caller, s.books.Key(), basket)
	ok.NoErr(err)
	s.sendAll(t)
	s.sendMails(t)
	_, err = s.staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: hostile})
	ok.NoErr(err)
	deliveries, err := s.staff.ListDeliveries(t.Context(), s.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	ok.NoErr(err)
	names := strings.NewReplacer("{companyId}", s.company.String(), "{eventId}", s.event.ID.String(), "{orderId}",
		order.ID.String(), "{endpointId}", endpoint.ID.String(), "{deliveryId}", deliveries.Items[0].ID.String())
	seen := 0
	look := func(who, path string) {
		got := s.get(t, who, path)
		if got.StatusCode == http.StatusOK {
			checkIsolated(t, path, got)
			seen++
		}
	}
	for _, route := range console.Pages() {
		if strings.Count(route.Path, "{") > 1 && !route.Document {
			look(owner, names.Replace(route.Path))
			look(chief, names.Replace(route.Path))
		}
	}
	ok.True(seen > 8)
	for _, path := range []string{"/orders", "/buyers", "/mail", "/reports?event={eventId}", "/orders?event={eventId}"} {
		look(owner, names.Replace("/business/{companyId}"+path))
	}
	asked := s.post(t, owner, buyers+"/erase/ask", "email", "ngozi@example.com")
	ok.Equal(asked.StatusCode, http.StatusOK)
	checkIsolated(t, "erase", asked)
}

// TestLongTextsAreRefusedAndKept posts 10,000 characters in each field that takes a text.
func TestLongTextsAreRefusedAndKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	long := strings.Repeat("ñ", 10_000)
	for path, names := range map[string][]string{
		"/business/{companyId}/branding/save": {
			"brandName", "logoUrl", "checkoutFooter", "ticketFooter", "emailFooter", "supportEmail",
		},
		"/business/{companyId}/verification/save": {
			"legalName", "registrationNumber", "address", "contactName", "contactPhone",
		},
		"/platform/companies/create":  {"name"},
		"/platform/categories/create": {"name", "slug"},
		"/platform/mail-sender/set":   {"from", "name", "bounces"},
	} {
		for _, name := range names {
			ok := is.New(t)
			pairs := []string{name, long}
			for _, other := range names {
				if other != name && !strings.HasSuffix(path, "/save") {
					pairs = append(pairs, other, "ada@example.com")
				}
			}
			got := s.post(t, chief, path, pairs...)
			ok.Equal(got.StatusCode, http.StatusBadRequest) // path and name
			ok.True(got.has(long))                          // path and name
			ok.True(got.has("aria-invalid"))                // path and name
		}
	}
}

func TestListOfAProgramIsNeverNull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, route := range console.Pages() {
		path := strings.ReplaceAll(route.Path, "{companyId}", s.company.String())
		if strings.Contains(path, "{") {
			continue
		}
		got := s.get(t, chief, "/api/v2"+path)
		for _, name := range []string{
			"data", "items", "companies", "keys", "rotations", "versions", "rates", "cases", "fundings", "passkeys", "sessions",
		} {
			if got.has(`"` + name + `":null`) {
				t.Errorf("%s has no list %s: %s", path, name, got.text)
			}
		}
	}
}
