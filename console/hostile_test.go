package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// hostile is a text that turns what follows it around, looks like markup, and like a formula.
const hostile = "=\u202e<script>alert(1)</script>\"'&"

// TestHostileTextsStayWithinTheirElements puts a text into all that a company and its people write, and looks at every
// page that shows it.
func TestHostileTextsStayWithinTheirElements(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.openShop(t, 100_000_00)
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
			ok.True(!got.has("<script>alert")) // path
			// An override has to end with the element around it, so that no word of ours is turned around.
			for rest := got.text; ; {
				before, after, found := strings.Cut(rest, "\u202e")
				if !found {
					break
				}
				tag := before[max(0, strings.LastIndex(before, "<")):]
				isolated := strings.HasPrefix(tag, "<bdi") || strings.Contains(tag, `dir="auto"`) ||
					strings.Contains(tag, `="=`) || strings.Contains(tag, `title="`) || strings.HasPrefix(tag, "<title") ||
					strings.HasPrefix(tag, "<option") || strings.Contains(tag, `class="sr"`)
				if !isolated {
					t.Errorf("%s shows an override within %q", path, tag)
				}
				rest = after
			}
		}
	}
	csv := s.post(t, owner, "/business/{companyId}/audit/export")
	ok.Equal(csv.StatusCode, http.StatusOK)
	ok.True(!strings.Contains(csv.text, "\n=") && !strings.Contains(csv.text, ",="))
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
