package ticketing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

func TestACompanyBeginsReadyToBeVerified(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, err := e.staff.CreateCompany(t.Context(), "  Adire Concerts\n")
		is.NoErr(err)
		told, err := json.Marshal(company)
		is.NoErr(err)
		is.Equal(string(told), fmt.Sprintf(`{"id":"%s","name":"Adire Concerts","status":"ACTIVE",`+
			`"verification":{"status":"UNVERIFIED","approvalExpiresAt":null,"graceUntil":null},`+
			`"createdAt":"2026-11-21T09:30:00.000Z","updatedAt":"2026-11-21T09:30:00.000Z"}`, company.ID))

		found, err := e.staff.GetCompany(t.Context(), company.ID)
		is.NoErr(err)
		is.Equal(found, company)

		branding, err := e.staff.GetBranding(t.Context(), company.ID)
		is.NoErr(err)
		told, err = json.Marshal(branding)
		is.NoErr(err)
		is.Equal(string(told), `{"brandName":"Adire Concerts","logoUrl":null,"primaryColor":"#111827",`+
			`"accentColor":"#2563EB","checkoutFooter":null,"ticketFooter":null,"emailFooter":null,`+
			`"supportEmail":null,"emailMode":"SERVICE_SENDER"}`)

		wallets, err := e.staff.GetWallets(t.Context(), company.ID)
		is.NoErr(err)
		told, err = json.Marshal(wallets)
		is.NoErr(err)
		is.Equal(string(told), `{"float":{"amount":"0.00","currency":"NGN"},`+
			`"earnings":{"amount":"0.00","currency":"NGN"},"lowBalance":true,`+
			`"floatStatus":"ACTIVE","earningsStatus":"ACTIVE"}`)
	})
}

func TestACompanyNameHas2To120Characters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give string
		want string
	}{
		{name: "two", give: "ab"},
		{name: "120 of two bytes each", give: strings.Repeat("é", 120)},
		{name: "120 and blanks around", give: " " + strings.Repeat("a", 120) + " "},
		{name: "none", give: "", want: "name: must be 2 to 120 characters"},
		{name: "one", give: "a", want: "name: must be 2 to 120 characters"},
		{name: "one and blanks", give: "a   ", want: "name: must be 2 to 120 characters"},
		{name: "121", give: strings.Repeat("a", 121), want: "name: must be at most 120 characters"},
		{name: "line break within", give: "a\nb", want: "name: must not contain control characters"},
		{name: "NUL", give: "ab\x00", want: "name: must not contain control characters"},
		{name: "C1 control", give: "a\u0085b", want: "name: must not contain control characters"},
		{name: "broken UTF-8", give: "ab\xff", want: "name: must be valid UTF-8"},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				_, err := e.staff.CreateCompany(t.Context(), test.give)
				is.Equal(said(err), test.want)
			})
		}
	})
}

func TestACompanyIsRenamed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		id := e.unverified(t)
		e.clock.advance(time.Second)
		renamed, err := e.staff.RenameCompany(t.Context(), id, " Bogolan Nights ")
		is.NoErr(err)
		is.Equal(renamed.Name, "Bogolan Nights")
		is.Equal(renamed.UpdatedAt.Time, opening.Add(time.Second))
		found, err := e.staff.GetCompany(t.Context(), id)
		is.NoErr(err)
		is.Equal(found, renamed)
		branding, err := e.staff.GetBranding(t.Context(), id)
		is.NoErr(err)
		is.Equal(branding.BrandName, "Adire Concerts") // The name that buyers see is that of the branding.

		e.clock.advance(time.Second)
		again, err := e.staff.RenameCompany(t.Context(), id, "Bogolan Nights")
		is.NoErr(err)
		is.Equal(again, renamed)
		for name, want := range map[string]string{
			"a": "name: must be 2 to 120 characters", "ab": "", strings.Repeat("a", 120): "",
			strings.Repeat("a", 121): "name: must be at most 120 characters", "": "name: must be 2 to 120 characters",
		} {
			_, err := e.staff.RenameCompany(t.Context(), id, name)
			is.Equal(said(err), want)
		}
	})
}

func TestSuspendingAndActivatingChangeOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		id := e.unverified(t)
		for _, step := range []struct {
			act    func(context.Context, uuid.UUID) (ticketing.Company, error)
			status ticketing.CompanyStatus
			change bool
		}{
			{e.staff.ActivateCompany, ticketing.CompanyActive, false},
			{e.staff.SuspendCompany, ticketing.CompanySuspended, true},
			{e.staff.SuspendCompany, ticketing.CompanySuspended, false},
			{e.staff.ActivateCompany, ticketing.CompanyActive, true},
		} {
			before, err := e.staff.GetCompany(t.Context(), id)
			is.NoErr(err)
			e.clock.advance(time.Second)
			answer, err := step.act(t.Context(), id)
			is.NoErr(err)
			is.Equal(answer.Status, step.status)
			is.Equal(answer.UpdatedAt != before.UpdatedAt, step.change)
			found, err := e.staff.GetCompany(t.Context(), id)
			is.NoErr(err)
			is.Equal(found, answer)
		}
	})
}

// TestACompanyIsNeverUpdatedBeforeItWasCreated checks that a clock that is set back does not set the company's update
// time back.
func TestACompanyIsNeverUpdatedBeforeItWasCreated(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		id := e.unverified(t)
		e.clock.advance(-time.Hour)
		company, err := e.staff.SuspendCompany(t.Context(), id)
		is.NoErr(err)
		is.Equal(company.UpdatedAt.Time, opening)
	})
}

func TestCompaniesAreListedOldestFirstInPages(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		var want []uuid.UUID
		for range 5 {
			want = append(want, e.unverified(t))
			e.clock.advance(time.Millisecond)
		}
		var got []uuid.UUID
		params := ticketing.CompanyFilter{
			PageParams: ticketing.PageParams{Limit: 2}, Order: ticketing.CompaniesOldest,
		}
		for {
			page, err := e.staff.ListCompanies(t.Context(), params)
			is.NoErr(err)
			for _, company := range page.Items {
				got = append(got, company.ID)
			}
			is.Equal(page.HasMore, page.NextCursor != "")
			if params.Cursor = page.NextCursor; !page.HasMore {
				break
			}
		}
		is.Equal(got, want)

		none := ticketing.PageParams{Cursor: "bm9uZQ"}
		_, err := e.staff.ListCompanies(t.Context(), ticketing.CompanyFilter{PageParams: none})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		for limit, want := range map[int]ticketing.Code{
			-1: ticketing.CodeInvalidRequest, 1: "", 100: "", 101: ticketing.CodeInvalidRequest,
		} {
			_, err := e.staff.ListCompanies(t.Context(), ticketing.CompanyFilter{PageParams: ticketing.PageParams{Limit: limit}})
			is.Equal(code(err), want)
		}
	})
}
