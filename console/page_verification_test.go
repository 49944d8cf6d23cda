package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const verificationPath = "/business/{companyId}/verification"

// facts are the fields of a whole submission.
func facts() []string {
	return []string{
		"legalName", "Adire Concerts Limited", "registrationNumber", "RC 123456", "country", "ng", "address",
		"1 Marina\r\nLagos", "contactName", "Ada Obi", "contactEmail", "ada@adire.ng", "contactPhone", "+234 800 1234567",
	}
}

func TestVerificationIsDraftedSubmittedAndDecided(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	got := s.get(t, administrator, verificationPath)
	ok.Equal(got.StatusCode, http.StatusOK)
	ok.True(strings.Contains(words(got), "Can sell No Approval None Your company"))

	// A draft may lack facts, and is kept as it is.
	saved := s.post(t, administrator, verificationPath+"/save", "legalName", "Adire <b>Concerts</b>", "country", "")
	page := s.follow(t, administrator, saved)
	ok.True(page.has("The draft was saved. Submit it when it is complete."))
	ok.True(page.has(`value="Adire &lt;b&gt;Concerts&lt;/b&gt;"`))
	ok.True(strings.Contains(words(page), "Newest case No. 1, a draft Your draft"))

	// A submission needs all of them: each that is missing says so at its field, and what was typed is kept.
	refused := s.post(t, administrator, verificationPath+"/submit", "legalName", "Adire Concerts Limited", "country",
		"Nigeria")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="Nigeria"`))
	ok.True(strings.Contains(words(refused), "such as NG. must be a code of ISO 3166-1 alpha-2, such as NG Address"))
	refused = s.post(t, administrator, verificationPath+"/submit", "legalName", "Adire Concerts Limited", "country", "NG")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(strings.Contains(words(refused), "Registration number is needed to submit Country"))
	ok.True(refused.has(`value="Adire Concerts Limited"`))
	ok.True(strings.Contains(words(s.get(t, owner, verificationPath)), "a draft")) // nothing was submitted

	page = s.follow(t, administrator, s.post(t, administrator, verificationPath+"/submit", facts()...))
	ok.True(page.has("The verification was submitted."))
	text := words(page)
	ok.True(strings.Contains(text, "Submitted The platform is reviewing your case."))
	ok.True(strings.Contains(text, "Country NG Address 1 Marina Lagos Contact Ada Obi"))
	ok.True(!page.has("<textarea")) // it cannot be edited
	conflict := s.post(t, administrator, verificationPath+"/save", "legalName", "Other")
	ok.Equal(conflict.StatusCode, http.StatusConflict)
	ok.True(conflict.has("It can be edited once it is decided."))

	s.approve(t, s.clock.now().AddDate(1, 0, 0))
	text = words(s.get(t, administrator, verificationPath))
	ok.True(strings.Contains(text, "Can sell Yes Approval Until 21 Nov 2027, 10:30 , 365 days left"))
	ok.True(strings.Contains(text, "Renew or correct These are the details of your last case."))
	ok.True(strings.Contains(text, "Earlier cases No. 1 Approved submitted 21 Nov 2026 , decided 21 Nov 2026"))

	// A renewal leaves the approval in force until it is decided.
	s.follow(t, owner, s.post(t, owner, verificationPath+"/submit", facts()...))
	text = words(s.get(t, administrator, verificationPath))
	ok.True(strings.Contains(text, "You can keep selling meanwhile."))
	ok.True(strings.Contains(text, "Newest case No. 2, submitted"))
}

func TestVerificationShowsExpiryGraceAndRejection(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, s.clock.now().Add(time.Hour))
	ok.True(strings.Contains(words(s.get(t, owner, verificationPath)), "11:30 , 0 days left"))
	s.clock.advance(time.Hour)
	text := words(s.get(t, owner, verificationPath))
	ok.True(strings.Contains(text, "Verification Expired"))
	ok.True(strings.Contains(text, "Can sell No Approval Expired on 21 Nov 2026, 11:30"))

	_, err := s.staff.GrantGrace(t.Context(), s.company, s.clock.now().Add(time.Hour))
	ok.NoErr(err)
	text = words(s.get(t, owner, verificationPath))
	ok.True(strings.Contains(text, "Can sell Yes"))
	ok.True(strings.Contains(text, "Grace period Until 21 Nov 2026, 12:30 . This is not an approval."))
	s.clock.advance(time.Hour)
	ok.True(strings.Contains(words(s.get(t, owner, verificationPath)), "Grace period Ended on 21 Nov 2026, 12:30"))

	s.post(t, owner, verificationPath+"/submit", facts()...)
	_, err = s.staff.RejectVerification(t.Context(), s.company, "Listed by the regulator")
	ok.NoErr(err)
	page := s.get(t, owner, verificationPath)
	ok.True(strings.Contains(words(page), "No. 1 Rejected"))
	ok.True(!page.has("regulator")) // the reason is for staff alone
	ok.True(!s.get(t, owner, "/api/v2"+verificationPath).has("regulator"))
	s.signIn(t, onboarding) // Their session has ended meanwhile.
	ok.True(s.get(t, onboarding, verificationPath).has("regulator"))
}

func TestVerificationAsJSON(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	draft := s.postJSON(t, owner, verificationPath+"/save", `{"legalName":"Adire","country":"NG"}`)
	ok.Equal(draft.StatusCode, http.StatusOK)
	refused := s.postJSON(t, owner, verificationPath+"/submit", `{}`)
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.Equal(refused.code(t), "CONFLICT")
	refused = s.postJSON(t, owner, verificationPath+"/submit", `{"address":"1 Marina"}`)
	ok.Equal(refused.code(t), "INVALID_REQUEST")
	ok.True(refused.has(`"registrationNumber: is needed to submit"`))
	ok.Equal(s.postJSON(t, owner, verificationPath+"/save", `{"legalname":"x"}`).code(t), "INVALID_REQUEST")

	var found ticketing.CompanyVerification
	s.get(t, owner, "/api/v2"+verificationPath).data(t, &found)
	ok.Equal(len(found.Cases), 1)
	ok.Equal(found.Cases[0].Address, "1 Marina")
	ok.Equal(found.Cases[0].Status, ticketing.VerificationUnverified)
}

// TestVerificationNeedsThreeGrants checks section 1: the page needs COMPANY:kyb:read, COMPANY:kyb:manage and
// COMPANY:kyb:submit.
func TestVerificationNeedsThreeGrants(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for who, status := range map[string]int{
		owner: http.StatusOK, administrator: http.StatusOK, onboarding: http.StatusOK, chief: http.StatusOK,
		viewer: http.StatusForbidden, auditor: http.StatusForbidden, finance: http.StatusForbidden,
		stranger: http.StatusNotFound,
	} {
		if got := s.get(t, who, verificationPath); got.StatusCode != status {
			t.Errorf("%s gets %d, want %d", who, got.StatusCode, status)
		}
	}
}
