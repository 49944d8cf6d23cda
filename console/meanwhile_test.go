package console_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

func TestRoleThatWasTakenAwayIsRefusedInWords(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.UpdateMember(t.Context(), s.company, s.users[administrator], ticketing.RoleViewer)
	ok.NoErr(err)
	got := s.post(t, administrator, "/business/{companyId}/branding/save", "brandName", "Another")
	ok.Equal(got.StatusCode, http.StatusForbidden)
	ok.True(got.has("The permission COMPANY:branding:manage is required."))
	_, err = s.staff.RemoveMember(t.Context(), s.company, s.users[administrator])
	ok.NoErr(err)
	ok.Equal(s.postJSON(t, administrator, "/business/{companyId}/branding/save", `{"brandName":"Another"}`).code(t),
		"SIGN_IN_REQUIRED") // their sessions ended with their last role
	_, err = s.staff.UpdateStaff(t.Context(), s.users[finance], ticketing.StaffAuditor)
	ok.NoErr(err)
	ok.Equal(s.post(t, finance, s.filled("/platform/companies/{companyId}/commission/schedule"), "value", "1", "unit",
		"PERCENT").StatusCode, http.StatusForbidden)
	look, err := s.staff.GetBranding(t.Context(), s.company)
	ok.NoErr(err)
	ok.Equal(look.BrandName, "Adire Concerts")
}

func TestSuspendedCompanyIsNamedSo(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.ApproveVerification(t.Context(), s.company, ticketing.ApprovalParams{
		ExpiresAt: new(opening.AddDate(1, 0, 0)),
	})
	ok.NoErr(err)
	_, err = s.staff.SuspendCompany(t.Context(), s.company)
	ok.NoErr(err)
	for _, route := range console.Pages() {
		if route.Company {
			ok.True(s.get(t, owner, s.filled(route.Path)).StatusCode < 500) // route.Path
		}
	}
	ok.True(s.get(t, owner, "/business/{companyId}/api-keys").has("Suspended"))
	for _, act := range console.Acts() {
		if act.Company {
			got := s.post(t, owner, s.filled(act.Path), fields(t, bodies()[act.Name])...)
			ok.True(got.StatusCode < 500) // act.Name
		}
	}
	for path, who := range map[string]string{
		"/business/{companyId}/settlements/request": owner, "/platform/companies/{companyId}/float/credit": chief,
	} {
		got := s.post(t, who, path, "amount", "1.00", "reference", "ref-00000001", "confirmed", "true")
		if who == owner {
			got = s.post(t, who, path)
		}
		ok.Equal(got.StatusCode, http.StatusConflict) // path
		ok.True(got.has("The company is not active."))
	}
}

func TestTwoPeopleDecideOneSettlement(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.openSettlement(t, s.openShop(t, 100_000_00))
	var open []ticketing.OpenSettlement
	s.get(t, finance, "/api/v2/platform/settlements").data(t, &open)
	path := "/platform/settlements/" + open[0].ID.String()
	var wait sync.WaitGroup
	got := make([]page, 2)
	wait.Go(func() { got[0] = s.post(t, chief, path+"/approve") })
	wait.Go(func() { got[1] = s.post(t, finance, path+"/reject", "reason", "No such account") })
	wait.Wait()
	done, refused := got[0], got[1]
	if done.StatusCode != http.StatusSeeOther {
		done, refused = refused, done
	}
	ok.Equal(done.StatusCode, http.StatusSeeOther)
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(refused.has(`role="alert"`))
}
