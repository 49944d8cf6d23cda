package console_test

import (
	"context"
	"fmt"
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

// longForm is a form with valid fields, and the names of those that take a text.
type longForm struct {
	who, path string
	fields    []string
	texts     []string
}

// longForms are the forms of a shop that take a text. The shop gets what the forms are about.
func (s *shop) longForms(t *testing.T) []longForm {
	t.Helper()
	ok := is.New(t)
	s.submit(t, "Adire Concerts Limited")
	order := s.sell(t)
	_, err := s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
		Bank: "Zuma Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts Ltd",
	})
	ok.NoErr(err)
	settlement, err := s.staff.RequestSettlement(t.Context(), s.company)
	ok.NoErr(err)
	_, err = s.Accounts().AddPasskey(t.Context(), s.users[owner], ticketing.PasskeyParams{
		ID: "abc", Name: "Phone", Credential: "{}",
	})
	ok.NoErr(err)
	endpoint := s.endpoint(t)
	const company, one = "/business/{companyId}", "/platform/companies/{companyId}"
	eventTexts := []string{"title", "description", "location", "venue", "imageUrl", "organizerName", "ticketCategories"}
	return []longForm{
		{owner, company + "/branding/save", nil, []string{
			"brandName", "logoUrl", "checkoutFooter", "ticketFooter", "emailFooter", "supportEmail",
		}},
		{owner, "/account/passkeys/abc/rename", nil, []string{"name"}},
		{owner, company + "/members/invite", []string{
			"email", "new@example.com", "name", "Ngozi", "role", "VIEWER", "by", "link",
		}, []string{"email", "name"}},
		{owner, company + "/api-keys/issue", []string{"name", "Shop", "grants", "COMPANY:event:read"}, []string{"name"}},
		{owner, company + "/webhooks/create", []string{
			"url", "https://hooks.example.com/other", "events", "order.created",
		}, []string{"url"}},
		{owner, company + "/webhooks/" + endpoint.ID.String() + "/endpoint/update", []string{
			"url", "https://hooks.example.com/other", "events", "order.created",
		}, []string{"url"}},
		{owner, settlements + "/bank-account/set", []string{
			"bank", "Zuma Bank", "accountNumber", "0123456789", "accountName", "Adire",
		}, []string{"bank", "accountNumber", "accountName"}},
		{owner, events + "/create", eventFields(uuid.NewString()), append(eventTexts, "date", "startsAt", "timezone")},
		{owner, s.at() + "/edit/save", without(eventFields(""), "idempotencyKey", "status"), eventTexts},
		{owner, s.at() + "/tiers/add", batch(uuid.NewString()), []string{"title", "description", "unitPrice"}},
		{chief, "/platform/companies/create", nil, []string{"name"}},
		{chief, "/platform/categories/create", []string{"name", "Comedy", "slug", "comedy"}, []string{"name", "slug"}},
		{chief, "/platform/mail-sender/set", []string{
			"from", "ada@example.com", "name", "Tickets", "bounces", "ada@example.com",
		}, []string{"from", "name", "bounces"}},
		{chief, "/platform/staff/add", []string{
			"email", "new@example.com", "name", "Ngozi", "role", "SUPPORT",
		}, []string{"email", "name"}},
		{chief, one + "/rename", nil, []string{"name"}},
		{chief, one + "/float/credit", []string{"amount", "5.00", "reference", "GTB-0091827"}, []string{
			"amount", "reference",
		}},
		{chief, one + "/commission/schedule", []string{"value", "2.5", "unit", "PERCENT"}, []string{"value"}},
		{chief, one + "/verification/reject", []string{"caseNumber", "1"}, []string{"reason"}},
		{chief, "/platform/settlements/" + settlement.ID.String() + "/reject", nil, []string{"reason"}},
		{chief, company + "/orders/" + order.ID.String() + "/refund", nil, []string{"reason"}},
		{chief, company + "/orders/" + order.ID.String() + "/cancel", nil, []string{"reason"}},
		{stranger, "/business/" + s.other.String() + "/verification/save", nil, []string{
			"legalName", "registrationNumber", "country", "address", "contactName", "contactEmail", "contactPhone",
		}},
	}
}

// TestLongTextsAreRefusedAndKept posts 10,000 characters in each field that takes a text. The form comes back with them
// and with the field marked.
func TestLongTextsAreRefusedAndKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	long := strings.Repeat("ñ", 10_000)
	for _, form := range s.longForms(t) {
		for _, name := range form.texts {
			got := s.post(t, form.who, form.path, append(without(form.fields, name), name, long)...)
			if got.StatusCode != http.StatusBadRequest || !got.has(long) || !got.has(`aria-invalid="true"`) {
				t.Errorf("%s of %s: status %d, kept %v, marked %v; want 400 and both", name, form.path, got.StatusCode,
					got.has(long), got.has(`aria-invalid="true"`))
			}
		}
	}
}

// TestLongFiltersAreRefusedOrFindNothing sends 10,000 characters in each member of the query of each page.
func TestLongFiltersAreRefusedOrFindNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	long := "?%s=" + strings.Repeat("n", 10_000)
	for _, route := range console.Pages() {
		path := strings.NewReplacer("{companyId}", s.company.String(), "{eventId}", s.event.ID.String()).Replace(route.Path)
		if strings.Contains(path, "{") {
			continue
		}
		for _, name := range route.Query {
			got := s.get(t, chief, path+fmt.Sprintf(long, name))
			if got.StatusCode != http.StatusBadRequest && got.StatusCode != http.StatusOK || !got.has("<h1>") {
				t.Errorf("%s with a long %s gets %d, want a page of ours with 200 or 400", route.Path, name, got.StatusCode)
			}
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
