package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// openSettlement makes a sale at the company of a site, which is a shop already, and requests its earnings.
func (s *site) openSettlement(t *testing.T, key ticketing.IssuedAPIKey) {
	t.Helper()
	s.sell(t, key, 1000_00)
	_, err := s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
		Bank: "Zuma Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts Ltd",
	})
	is.New(t).NoErr(err)
	_, err = s.staff.RequestSettlement(t.Context(), s.company)
	is.New(t).NoErr(err)
}

func TestCompaniesAreFilteredOrderedAndPaged(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, opening.AddDate(1, 0, 0))
	_, err := s.staff.SuspendCompany(t.Context(), s.other)
	ok.NoErr(err)
	const adire, oja = "Adire Concerts</bdi>", "Oja Nights</bdi>"
	for query, want := range map[string][2]bool{
		"": {true, true}, "?prefix=adi": {true, false}, "?status=SUSPENDED": {false, true},
		"?verification=APPROVED": {true, false}, "?order=EXPIRY": {true, false}, "?expires=30": {false, false},
		"?order=FLOAT": {true, true}, "?order=NAME&prefix=o": {false, true},
	} {
		got := s.get(t, auditor, "/platform/companies"+query)
		ok.Equal(got.StatusCode, http.StatusOK) // query
		ok.Equal([2]bool{got.has(adire), got.has(oja)}, want)
	}
	s.clock.advance(336 * 24 * time.Hour) // The sessions have ended.
	s.signIn(t, auditor)
	ok.True(s.get(t, auditor, "/platform/companies?expires=30").has("29 days left"))
	ok.True(s.get(t, auditor, "/platform/companies?prefix=zzz").has("No companies match"))
	first := s.get(t, auditor, "/platform/companies?order=NAME&limit=1")
	ok.True(first.has(adire) && !first.has(oja))
	_, after, _ := strings.Cut(first.text, `<p class="more"><a class="button quiet" href="`)
	next, _, _ := strings.Cut(after, `"`)
	second := s.get(t, auditor, strings.ReplaceAll(next, "&amp;", "&"))
	ok.True(second.has(oja) && !second.has(adire))
	for _, query := range []string{"?order=FLOAT&prefix=a", "?expires=7", "?status=GONE", "?cursor=x"} {
		ok.Equal(s.get(t, auditor, "/api/v2/platform/companies"+query).StatusCode, http.StatusBadRequest)
	}
	// The order by float refuses filters to people, too, and keeps them in their fields.
	narrow := s.get(t, auditor, "/platform/companies?order=FLOAT&prefix=a")
	ok.Equal(narrow.StatusCode, http.StatusBadRequest)
	ok.True(narrow.has("Remove the other filters") && narrow.has(`value="a"`) && !narrow.has(adire))
}

func TestCompanyIsCreatedRenamedAndSuspended(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	refused := s.post(t, onboarding, "/platform/companies/create", "name", "X")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="X"`) && refused.has("aria-invalid"))

	made := s.follow(t, onboarding, s.post(t, onboarding, "/platform/companies/create", "name", "<b>Ọjà</b>"))
	ok.True(made.has("Invite its first owner next."))
	ok.True(made.has("&lt;b&gt;Ọjà&lt;/b&gt;"))
	const path = "/platform/companies/{companyId}"
	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/rename", "name", "Adire Live")).has("Adire Live"))
	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/suspend")).has("The company is suspended"))
	ok.True(s.get(t, owner, "/business/{companyId}").has("Suspended"))
	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/activate")).has("The company is active again."))
	shown := s.follow(t, onboarding, s.post(t, onboarding, path+"/wallets/FLOAT/suspend"))
	ok.True(shown.has("The wallet is suspended") && shown.has("Activate Float"))
	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/wallets/FLOAT/activate")).has("Suspend Float"))
	ok.Equal(s.post(t, onboarding, path+"/wallets/BONUS/suspend").StatusCode, http.StatusBadRequest)
	seen := s.get(t, auditor, path)
	ok.True(!seen.has("/rename") && !seen.has("/suspend")) // who may not is offered nothing

	// Suspension needs a recent sign-in.
	s.clock.advance(11 * time.Minute)
	ok.True(s.post(t, onboarding, path+"/suspend").has("Confirm your identity"))
	ok.Equal(s.postJSON(t, onboarding, s.filled(path)+"/suspend", "").code(t), "CONFIRM_REQUIRED")
}
