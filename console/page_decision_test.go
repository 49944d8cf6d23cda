package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// submit submits a verification of the company of a site.
func (s *site) submit(t *testing.T, legalName string) {
	t.Helper()
	ok := is.New(t)
	_, err := s.staff.UpdateVerification(t.Context(), s.company, ticketing.UpdateVerificationParams{
		LegalName: &legalName, RegistrationNumber: new("RC 1"), Country: new("NG"), Address: new("1 Marina"),
		ContactName: new("Ada"), ContactEmail: new("ada@example.com"), ContactPhone: new("+234"),
	})
	ok.NoErr(err)
	_, err = s.staff.SubmitVerification(t.Context(), s.company)
	ok.NoErr(err)
}

func TestVerificationIsDecided(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/companies/{companyId}/verification"
	ok.True(s.get(t, onboarding, path).has("No cases yet"))
	s.submit(t, "Adire <i>Ltd")
	shown := s.get(t, onboarding, path)
	ok.True(shown.has("as it was submitted") && shown.has("Adire &lt;i&gt;Ltd") && shown.has("RC 1"))
	ok.True(!s.get(t, auditor, path).has("/verification/approve"))
	ok.True(s.get(t, support, "/platform").has("Adire &lt;i&gt;Ltd")) // It is on the list of what waits.
	ok.True(s.get(t, support, "/platform/cases").has(">Read<"))

	refused := s.post(t, onboarding, path+"/reject", "reason", "", "caseNumber", "1")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("aria-invalid"))
	rejected := s.follow(t, onboarding, s.post(t, onboarding, path+"/reject", "reason", "No <stamp>", "caseNumber", "1"))
	ok.True(rejected.has("No &lt;stamp&gt;") && rejected.has("Earlier cases"))
	ok.True(!s.get(t, owner, "/business/{companyId}/verification").has("stamp")) // The reason is for staff.

	s.submit(t, "Adire Ltd")
	// Somebody who read the first case does not approve the second one by it.
	ok.Equal(s.post(t, onboarding, path+"/approve", "expires", "2027-11-21", "caseNumber", "1").StatusCode,
		http.StatusConflict)
	late := s.post(t, onboarding, path+"/approve", "expires", "2020-01-01", "caseNumber", "2")
	ok.True(late.has("must be in the future") && late.has(`value="2020-01-01"`))
	approved := s.follow(t, onboarding, s.post(t, onboarding, path+"/approve", "expires", "2027-11-21", "caseNumber", "2"))
	ok.True(approved.has("The company is approved.") && approved.has("21 Nov 2027, 23:59")) // the end of that day
	ok.Equal(s.post(t, onboarding, path+"/reject", "reason", "late", "caseNumber", "2").StatusCode, http.StatusConflict)

	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/revoke")).has("is revoked"))
	graced := s.follow(t, onboarding, s.post(t, onboarding, path+"/grace", "until", "2026-12-01"))
	ok.True(graced.has("The company is in grace") && graced.has(`<span class="badge good">Yes</span>`))
	ended := s.follow(t, onboarding, s.post(t, onboarding, path+"/end-grace"))
	ok.True(ended.has("The grace has ended.") && ended.has(`<span class="badge bad">No</span>`))

	s.clock.advance(11 * time.Minute)
	ok.True(s.post(t, onboarding, path+"/revoke").has("Confirm your identity"))
	ok.Equal(s.postJSON(t, onboarding, s.filled(path)+"/approve", `{"expires":"2027-01-01T00:00:00Z"}`).StatusCode,
		http.StatusOK) // An approval needs no recent sign-in.
}
