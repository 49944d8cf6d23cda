package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

func TestQueuesShowWhatWaits(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.ApproveVerification(t.Context(), s.company, ticketing.ApprovalParams{
		ExpiresAt: new(opening.AddDate(0, 0, 20)),
	})
	ok.NoErr(err)
	_, err = s.staff.ApproveVerification(t.Context(), s.other, ticketing.ApprovalParams{
		ExpiresAt: new(opening.AddDate(0, 0, 1)),
	})
	ok.NoErr(err)
	s.clock.advance(25 * time.Hour)
	s.signIn(t, support)
	shown := s.get(t, support, "/platform")
	ok.True(shown.has("Approvals expiring within 30 days") && shown.has("18 days left"))
	ok.True(shown.has("1 more has expired"))
	ok.True(shown.has("Companies low on Float") && shown.has("₦0.00"))
	var data struct {
		Expired   int
		LowFloats struct {
			Items []struct{ CompanyName string }
		}
		Cases struct{ Items []struct{} }
	}
	s.get(t, support, "/api/v2/platform").data(t, &data)
	ok.Equal(data.Expired, 1)
	ok.Equal(len(data.LowFloats.Items), 2)
	ok.True(data.Cases.Items != nil)
}

func TestCategoriesAreCreatedAndDeactivated(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/categories"
	ok.True(s.get(t, auditor, path).has("No categories yet"))
	refused := s.post(t, onboarding, path+"/create", "name", "Live", "slug", "Not A Slug")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="Not A Slug"`) && refused.has("aria-invalid"))
	made := s.follow(t, onboarding, s.post(t, onboarding, path+"/create", "name", "Live", "slug", "live"))
	ok.True(made.has("<code>live"))
	ok.Equal(s.post(t, onboarding, path+"/create", "name", "Live", "slug", "live").StatusCode, http.StatusConflict)
	var all []ticketing.Category
	s.get(t, auditor, "/api/v2"+path).data(t, &all)
	ok.True(made.has(`data-copy="` + all[0].ID.String() + `"`))
	done := s.follow(t, onboarding, s.post(t, onboarding, path+"/"+all[0].ID.String()+"/deactivate"))
	ok.True(done.has("The category is deactivated") && !done.has("/deactivate"))
}

func TestMailSenderIsSetAndTested(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/mail-sender"
	tested := s.follow(t, onboarding, s.post(t, onboarding, path+"/test"))
	ok.True(tested.has("A mail was sent to onboarding@example.com."))
	ok.Equal(s.mail(t).To, "onboarding@example.com")
	refused := s.post(t, onboarding, path+"/set", "from", "nobody", "name", "Lagos", "bounces", "")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="nobody"`))
	set := s.follow(t, onboarding, s.post(t, onboarding, path+"/set", "from", "a@lagos.example", "name", "Lagos",
		"bounces", ""))
	ok.True(set.has("&lt;a@lagos.example&gt;"))
	ok.True(!s.get(t, auditor, path).has("/test"))
	ok.True(s.follow(t, onboarding, s.post(t, onboarding, path+"/remove")).has("No mail sender"))

	silent := newSite(t, func(c *console.Config) { c.Mailer = nil })
	ok.True(silent.get(t, onboarding, path).has("without a mail server"))
	ok.Equal(silent.post(t, onboarding, path+"/test").StatusCode, http.StatusConflict)
}

func TestBooksAreVerified(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, opening.AddDate(1, 0, 0))
	_, err := s.staff.CreditFloat(t.Context(), s.company, "bank-0001", 5000_00)
	ok.NoErr(err)
	shown := s.get(t, auditor, "/platform/books")
	ok.True(shown.has("Nothing is overdue") && shown.has(`<p class="sum word">None</p>`) && shown.has("Never"))
	done := s.follow(t, auditor, s.post(t, auditor, "/platform/books/{companyId}/verify"))
	ok.True(done.has("No problems found: 1 movement checked.") && done.has("badge good\">No problems"))
	ok.True(done.has("Never")) // the other company
	ok.True(!s.follow(t, auditor, s.post(t, auditor, "/platform/books/verify")).has("Never"))
	ok.Equal(s.post(t, auditor, "/platform/books/"+s.users[owner].String()+"/verify").StatusCode, http.StatusNotFound)
}

func TestPlatformAuditNamesPeopleAndCompanies(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.post(t, onboarding, "/platform/companies/{companyId}/rename", "name", "Adire Live")
	shown := s.get(t, auditor, "/platform/audit?action=company.rename")
	ok.True(shown.has("onboarding@example.com") && shown.has("Adire Live</bdi></a>") && shown.has("Adire Concerts"))
	ok.True(s.get(t, auditor, "/platform/audit?actor=onboarding@example.com").has("Renamed the company</a>"))
	ok.True(s.get(t, auditor, "/platform/audit?action=nothing.at.all").has("No entries match"))
	ok.True(strings.Contains(s.get(t, auditor, "/platform/audit?limit=1").text, "Next page"))
}

func TestSettlementsOfAllCompaniesAreListed(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ok.True(s.get(t, auditor, "/platform/settlements").has("No open settlements"))
	shop := s.openShop(t, 100_000_00)
	s.openSettlement(t, shop)
	shown := s.get(t, finance, "/platform/settlements")
	ok.True(shown.has("Adire Concerts") && shown.has("ends in <strong>6789</strong>"))
	ok.True(!s.get(t, auditor, "/platform/settlements").has("/approve"))
	ok.True(s.get(t, support, "/platform").has("Settlements to pay"))
	var open []ticketing.OpenSettlement
	s.get(t, finance, "/api/v2/platform/settlements").data(t, &open)
	ok.Equal(len(open), 1)
	path := "/platform/settlements/" + open[0].ID.String()
	refused := s.post(t, finance, path+"/reject", "reason", "")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("aria-invalid"))
	done := s.follow(t, finance, s.post(t, finance, path+"/reject", "reason", "wrong <account>"))
	ok.True(done.has("went back to the company") && done.has("wrong &lt;account&gt;") && done.has("finance@example.com"))
	ok.Equal(s.post(t, finance, path+"/approve").StatusCode, http.StatusConflict) // somebody else has decided
	s.openSettlement(t, shop)
	s.get(t, finance, "/api/v2/platform/settlements").data(t, &open)
	path = "/platform/settlements/" + open[0].ID.String()
	s.clock.advance(11 * time.Minute)
	ok.True(s.post(t, finance, path+"/approve").has("Confirm your identity"))
	s.signIn(t, finance)
	ok.True(s.follow(t, finance, s.post(t, finance, path+"/approve")).has("is completed."))
}
