package ticketing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// namesOf returns the names of the companies that a filter selects, over all pages of two.
func (e *env) namesOf(t *testing.T, filter ticketing.CompanyFilter) string {
	t.Helper()
	is := is.New(t)
	var names []string
	for filter.Limit = 2; ; {
		page, err := e.staff.ListCompanies(t.Context(), filter)
		is.NoErr(err)
		is.True(len(page.Items) <= 2)
		is.Equal(page.HasMore, page.NextCursor != "")
		for _, company := range page.Items {
			names = append(names, company.Name)
		}
		if filter.Cursor = page.NextCursor; !page.HasMore {
			return strings.Join(names, ", ")
		}
	}
}

// TestCompaniesAreFound checks each filter and order over several pages, after names and approvals changed.
func TestCompaniesAreFound(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		made := make(map[string]uuid.UUID)
		for _, name := range []string{"Bola Shows", "ant Farm", "Zed Ltd", "Ọjà", "bolt"} {
			company, err := e.staff.CreateCompany(ctx, name)
			is.NoErr(err)
			made[name] = company.ID
			e.clock.advance(time.Second)
		}
		_, err := e.staff.RenameCompany(ctx, made["Zed Ltd"], "BOLD Ltd")
		is.NoErr(err)
		_, err = e.staff.SuspendCompany(ctx, made["ant Farm"])
		is.NoErr(err)
		now := e.clock.now()
		for name, expires := range map[string]*time.Time{
			"bolt": new(now.Add(3 * time.Hour)), "Zed Ltd": new(now.Add(time.Hour)), "Ọjà": new(now.Add(2 * time.Hour)),
			"ant Farm": nil,
		} {
			_, err = e.staff.ApproveVerification(ctx, made[name], ticketing.ApprovalParams{ExpiresAt: expires})
			is.NoErr(err)
		}
		_, err = e.staff.RejectVerification(ctx, made["Ọjà"], "no such company")
		is.NoErr(err)

		for _, test := range []struct {
			name   string
			filter ticketing.CompanyFilter
			want   string
		}{
			{"all", ticketing.CompanyFilter{}, "bolt, Ọjà, BOLD Ltd, ant Farm, Bola Shows"},
			{
				"newest",
				ticketing.CompanyFilter{Order: ticketing.CompaniesNewest},
				"bolt, Ọjà, BOLD Ltd, ant Farm, Bola Shows",
			},
			{
				"oldest",
				ticketing.CompanyFilter{Order: ticketing.CompaniesOldest},
				"Bola Shows, ant Farm, BOLD Ltd, Ọjà, bolt",
			},
			{
				"by name",
				ticketing.CompanyFilter{Order: ticketing.CompaniesByName},
				"ant Farm, Bola Shows, BOLD Ltd, bolt, Ọjà",
			},
			{"by expiry", ticketing.CompanyFilter{Order: ticketing.CompaniesByExpiry}, "BOLD Ltd, bolt"},
			{"prefix", ticketing.CompanyFilter{Prefix: " BoL ", Order: ticketing.CompaniesByName}, "Bola Shows, BOLD Ltd, bolt"},
			{"prefix, newest", ticketing.CompanyFilter{Prefix: "bol"}, "bolt, BOLD Ltd, Bola Shows"},
			{"prefix of another letter", ticketing.CompanyFilter{Prefix: "Ọ"}, "Ọjà"},
			{"the other case of another letter", ticketing.CompanyFilter{Prefix: "ọ"}, ""},
			{"no pattern", ticketing.CompanyFilter{Prefix: "b%"}, ""},
			{"suspended", ticketing.CompanyFilter{Status: ticketing.CompanySuspended}, "ant Farm"},
			{
				"approved",
				ticketing.CompanyFilter{Verification: ticketing.VerificationApproved},
				"bolt, BOLD Ltd, ant Farm",
			},
			{"expires", ticketing.CompanyFilter{ExpiresBefore: now.Add(3*time.Hour + 1)}, "bolt, BOLD Ltd"},
			{"expires then", ticketing.CompanyFilter{ExpiresBefore: now.Add(3 * time.Hour)}, "BOLD Ltd"},
			{
				"all of it", ticketing.CompanyFilter{
					Prefix: "bo", Status: ticketing.CompanyActive, Verification: ticketing.VerificationApproved,
					ExpiresBefore: now.Add(4 * time.Hour), Order: ticketing.CompaniesByExpiry,
				}, "BOLD Ltd, bolt",
			},
		} {
			t.Run(test.name, func(t *testing.T) { is.New(t).Equal(e.namesOf(t, test.filter), test.want) })
		}
	})
}

// TestCompanyFilterIsChecked checks what a filter refuses, and that a cursor is bound to all of it.
func TestCompanyFilterIsChecked(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		for _, test := range []struct {
			filter ticketing.CompanyFilter
			want   string
		}{
			{ticketing.CompanyFilter{Prefix: strings.Repeat("é", 60)}, ""},
			{ticketing.CompanyFilter{Prefix: strings.Repeat("é", 61)}, "prefix: must be at most 60 characters"},
			{ticketing.CompanyFilter{Prefix: "a\xff"}, "prefix: must be valid UTF-8"},
			{ticketing.CompanyFilter{Prefix: "a\x00b"}, "prefix: must not contain control characters"},
			{ticketing.CompanyFilter{Status: "GONE"}, "status: must be ACTIVE or SUSPENDED"},
			{
				ticketing.CompanyFilter{Verification: "x"},
				"verification: must be UNVERIFIED, SUBMITTED, APPROVED, REJECTED or REVOKED",
			},
			{ticketing.CompanyFilter{Order: "BALANCE"}, "order: must be NEWEST, OLDEST, NAME or EXPIRY"},
			{ticketing.CompanyFilter{PageParams: ticketing.PageParams{Limit: 101}}, "limit: must be from 1 to 100"},
		} {
			_, err := e.staff.ListCompanies(t.Context(), test.filter)
			is.Equal(said(err), test.want)
		}
		for range 3 {
			_, err := e.staff.ApproveVerification(t.Context(), e.unverified(t), ticketing.ApprovalParams{
				ExpiresAt: new(e.clock.now().Add(time.Hour)),
			})
			is.NoErr(err)
		}
		filters := []ticketing.CompanyFilter{
			{},
			{Prefix: "adire"},
			{Status: ticketing.CompanyActive},
			{Verification: ticketing.VerificationApproved},
			{ExpiresBefore: e.clock.now().Add(2 * time.Hour)},
			{Order: ticketing.CompaniesOldest},
			{Order: ticketing.CompaniesByName},
			{Order: ticketing.CompaniesByExpiry},
		}
		for i, first := range filters {
			first.Limit = 1
			page, err := e.staff.ListCompanies(t.Context(), first)
			is.NoErr(err)
			is.True(page.HasMore)
			for j, next := range filters {
				next.Cursor = page.NextCursor
				_, err := e.staff.ListCompanies(t.Context(), next)
				is.Equal(err == nil, i == j)
				is.True(i == j || code(err) == ticketing.CodeInvalidCursor)
			}
		}
	})
}

// TestLongNamesHaveCursors checks that a list by name goes on after names that differ in their last letters alone.
func TestLongNamesHaveCursors(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		want := 0
		for _, long := range []string{strings.Repeat("😀", 120), strings.Repeat("😀", 119) + "a", strings.Repeat("😀", 60)} {
			_, err := e.staff.CreateCompany(t.Context(), long)
			is.NoErr(err)
			want++
		}
		filter := ticketing.CompanyFilter{Prefix: strings.Repeat("😀", 60), Order: ticketing.CompaniesByName}
		is.Equal(len(strings.Split(e.namesOf(t, filter), ", ")), want)
	})
}
