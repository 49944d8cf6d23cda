package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// approve gives the company of a site a verification until a time, or for good with the zero time.
func (s *site) approve(t *testing.T, until time.Time) {
	t.Helper()
	var params ticketing.ApprovalParams
	if !until.IsZero() {
		params.ExpiresAt = &until
	}
	_, err := s.staff.ApproveVerification(t.Context(), s.company, params)
	is.New(t).NoErr(err)
}

// schedule schedules a rate of a company, from now on with the zero time.
func (s *site) schedule(t *testing.T, value string, unit money.Unit, from time.Time) {
	t.Helper()
	ok := is.New(t)
	var params ticketing.CommissionParams
	if !from.IsZero() {
		params.EffectiveFrom = &from
	}
	var err error
	params.Rate, err = money.ParseRate(value, unit)
	ok.NoErr(err)
	_, err = s.staff.ScheduleCommission(t.Context(), s.company, params)
	ok.NoErr(err)
}

// openShop makes the company of a site ready to sell, with the given float, and returns its key.
func (s *site) openShop(t *testing.T, float money.Amount) ticketing.IssuedAPIKey {
	t.Helper()
	ok := is.New(t)
	s.approve(t, time.Time{})
	s.schedule(t, "2.5", money.Percent, time.Time{})
	_, err := s.staff.CreditFloat(t.Context(), s.company, "settlement-"+uuid.NewString(), float)
	ok.NoErr(err)
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Web shop", ticketing.AllGrants())
	ok.NoErr(err)
	return key
}

// words returns the text of a page without its markup, with single spaces.
func words(p page) string {
	var b strings.Builder
	inside := false
	for _, r := range p.text {
		switch {
		case r == '<':
			inside = true
			b.WriteByte(' ')
		case r == '>':
			inside = false
		case !inside:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// sell sells a ticket of a price with a key.
func (s *site) sell(t *testing.T, key ticketing.IssuedAPIKey, price money.Amount) {
	t.Helper()
	ok, ctx := is.New(t), t.Context()
	caller, err := s.Authenticate(ctx, key.Key)
	ok.NoErr(err)
	event, err := s.CreateEvent(ctx, caller, uuid.NewString(), ticketingtest.EventParams())
	ok.NoErr(err)
	_, err = s.CreateInventory(ctx, caller, event.ID, uuid.NewString(), ticketingtest.InventoryParams("VIP", price, 1))
	ok.NoErr(err)
	_, err = s.Checkout(ctx, caller, uuid.NewString(), ticketingtest.Basket(event.ID, "VIP", price, 1))
	ok.NoErr(err)
}

const overviewPath = "/business/{companyId}"

func TestOverviewOfANewCompanyShowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	got := s.get(t, owner, overviewPath)
	ok.Equal(got.StatusCode, http.StatusOK)
	text := words(got)
	for _, want := range []string{
		"Not ready to sell", "1 of 5 done",
		"Verification Missing The company is not verified. Fill in the verification and submit it. Verify",
		"Branding Done Since 21 Nov 2026 . View branding",
		"Commission rate Missing No commission rate is in force. Platform staff schedule it. View schedule",
		"Float Missing Float was never credited. Platform staff credit what the company has paid in. View balances",
		"API key Missing The company has no active API key. Issue one. API keys", "Test inbox Up to you",
		"Float ₦0.00 Low", "Commission rate None", "Verification Unverified Not current", "Dead letters 0",
		"Failed mails 0", "No movements yet",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview lacks %q:\n%s", want, text)
		}
	}
	company := "/business/" + s.company.String()
	ok.True(got.has(`<a class="button small" href="` + company + `/verification">`)) // to be settled here
	ok.True(got.has(`<a class="button small" href="` + company + `/api-keys">`))
	ok.True(got.has(`<a class="button small quiet" href="` + company + `/commission">`)) // only to be seen
	ok.True(got.has(`<a class="button small quiet" href="#money">`))

	var data struct {
		Readiness struct {
			Ready         bool `json:"ready"`
			Preconditions []struct{ Name, State string }
		} `json:"readiness"`
		DeadLetters *int `json:"deadLetters"`
	}
	s.get(t, owner, "/api/v2"+overviewPath).data(t, &data)
	ok.Equal(data.Readiness.Ready, false)
	ok.Equal(data.Readiness.Preconditions, []struct{ Name, State string }{
		{"VERIFICATION", "MISSING"},
		{"BRANDING", "MET"},
		{"COMMISSION_RATE", "MISSING"},
		{"FLOAT", "MISSING"},
		{"API_KEY", "MISSING"},
		{"TEST_INBOX", "UNCHECKED"},
	})
	ok.Equal(*data.DeadLetters, 0)
}

func TestOverviewHasTheButtonsOfTheRole(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	got := s.get(t, viewer, overviewPath)
	ok.True(!got.has("/verification")) // needs three grants, of which a viewer has one
	ok.True(strings.Contains(words(got), "Verification Unverified"))
	ok.True(!got.has(`class="button small" href`)) // nothing that a viewer could settle
	ok.True(got.has(`/api-keys">`))
}

func TestOverviewOfACompanyThatSells(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key := s.openShop(t, 3_000_00)
	got := words(s.get(t, owner, overviewPath))
	ok.True(strings.Contains(got, "Ready to sell Float "))
	ok.True(strings.Contains(got, "Ready to sell: every requirement is met (5 of 5)"))
	ok.True(strings.Contains(got, "Float ₦3,000.00 Pays for the tickets you sell"))
	ok.True(strings.Contains(got, "Commission rate 2.5 % Since 21 Nov 2026"))
	ok.True(strings.Contains(got, "Verification Approved Does not expire"))

	s.clock.advance(time.Minute)
	s.sell(t, key, 2_000_00)
	got = words(s.get(t, owner, overviewPath))
	ok.True(strings.Contains(got, "Float ₦1,000.00 Pays")) // low is strictly below
	ok.True(strings.Contains(got, "Earnings ₦50.00 No settlement is open"))
	ok.True(strings.Contains(got, "Float −₦2,000.00 ₦1,000.00"))

	s.sell(t, key, 1)
	ok.True(strings.Contains(words(s.get(t, owner, overviewPath)), "Float ₦999.99 Low Below ₦1,000.00"))

	_, err := s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts",
	})
	ok.NoErr(err)
	settlement, err := s.staff.RequestSettlement(t.Context(), s.company)
	ok.NoErr(err)
	page := s.get(t, owner, overviewPath)
	ok.True(strings.Contains(words(page), "Earnings ₦0.00 ₦50.00 on its way to ••••6789, Pending"))
	ok.True(!page.has("0123456789"))
	_, err = s.staff.RejectSettlement(t.Context(), settlement.ID, "The account is closed.")
	ok.NoErr(err)
	ok.True(strings.Contains(words(s.get(t, owner, overviewPath)), "No settlement is open"))
}

func TestOverviewCountsTheDaysOfAnApproval(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name  string
		after time.Duration // until the approval expires
		grace time.Duration // until a grace ends; zero: none
		want  string
		html  string
	}{
		{"far", 40 * day, 0, "Approved 40 days left, until 31 Dec 2026", "40 days left,"},
		{"soon", 30 * day, 0, "Approved 30 days left until 21 Dec 2026", `<span class="badge wait">30 days left</span>`},
		{"tomorrow", day, 0, "Approved 1 day left until", ""},
		{"today", day - 1, 0, "Approved Less than a day left until", ""},
		{"over", -time.Second, 0, "Approved Expired on 21 Nov 2026", `<span class="badge bad">Expired</span>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			const lead = 2 * time.Second
			s.approve(t, s.clock.now().Add(lead+tt.after).Truncate(time.Second))
			s.clock.advance(lead)
			page := s.get(t, owner, overviewPath)
			if !strings.Contains(words(page), tt.want) {
				t.Errorf("the overview lacks %q:\n%s", tt.want, words(page))
			}
			ok.True(page.has(tt.html))
			ok.Equal(page.has("Ready to sell"), false) // the rest is missing
		})
	}
}

func TestOverviewShowsAGraceAsNoApproval(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.GrantGrace(t.Context(), s.company, s.clock.now().AddDate(0, 0, 5))
	ok.NoErr(err)
	text := words(s.get(t, owner, overviewPath))
	ok.True(strings.Contains(text, "Verification Unverified Grace period until 26 Nov 2026"))
	ok.True(strings.Contains(text, "Verification Done Until 26 Nov 2026"))
}

func TestOverviewOfASuspendedCompany(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.openShop(t, 3_000_00)
	_, err := s.staff.SuspendCompany(t.Context(), s.company)
	ok.NoErr(err)
	text := words(s.get(t, owner, overviewPath))
	ok.True(strings.Contains(text, "Adire Concerts Suspended"))
	ok.True(strings.Contains(text, "The company is suspended. Platform staff can activate it."))
}
