package ticketing_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// facts returns all facts that a submission needs.
func facts() ticketing.UpdateVerificationParams {
	return ticketing.UpdateVerificationParams{
		LegalName: of(" Adire Shows Limited "), RegistrationNumber: of("RC 123456"), Country: of(" ng"),
		Address: of("1 Marina\r\nLagos"), ContactName: of("Ada Obi"), ContactEmail: of(" Ada@Adire.NG"),
		ContactPhone: of("+234 800 1234567"),
	}
}

func (e *env) file(t *testing.T, companyID uuid.UUID) ticketing.CompanyVerification {
	t.Helper()
	found, err := e.staff.GetVerification(t.Context(), companyID)
	is.New(t).NoErr(err)
	return found
}

// TestAVerificationCase checks that a case is drafted, submitted and decided, and that a case after a rejected one
// begins with its facts.
func TestAVerificationCase(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		company := e.unverified(t)
		is.Equal(show(t, e.file(t, company)), `{"status":"UNVERIFIED","approvalExpiresAt":null,"graceUntil":null,`+
			`"current":false,"cases":[]}`)
		administrator := e.as(t, company, e.join(t, company, "ada@adire.ng", ticketing.RoleAdministrator).UserID)

		draft, err := administrator.UpdateVerification(ctx, company,
			ticketing.UpdateVerificationParams{LegalName: of("Adire")})
		is.NoErr(err)
		is.Equal(draft.Number, int64(1))
		is.Equal(draft.Status, ticketing.VerificationUnverified)
		_, err = administrator.SubmitVerification(ctx, company)
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err),
			"The verification lacks registrationNumber, country, address, contactName, contactEmail, contactPhone.")
		e.clock.advance(time.Minute)
		_, err = administrator.UpdateVerification(ctx, company, facts())
		is.NoErr(err)
		e.clock.advance(time.Minute)
		submitted, err := administrator.SubmitVerification(ctx, company)
		is.NoErr(err)
		is.Equal(show(t, submitted), `{"number":1,"status":"SUBMITTED","legalName":"Adire Shows Limited",`+
			`"registrationNumber":"RC 123456","country":"NG","address":"1 Marina\r\nLagos","contactName":"Ada Obi",`+
			`"contactEmail":"ada@adire.ng","contactPhone":"+234 800 1234567","submittedAt":"2026-11-21T09:32:00.000Z",`+
			`"decidedAt":null,"reason":null,"createdAt":"2026-11-21T09:30:00.000Z","updatedAt":"2026-11-21T09:32:00.000Z"}`)
		is.Equal(e.file(t, company).Status, ticketing.VerificationSubmitted)
		is.True(!verifiedNow(t, e, company)) // A submission is not an approval.

		// A submitted case cannot be changed.
		e.clock.advance(time.Minute)
		again, err := administrator.SubmitVerification(ctx, company)
		is.NoErr(err)
		is.Equal(again, submitted)
		_, err = administrator.UpdateVerification(ctx, company, ticketing.UpdateVerificationParams{LegalName: of("Other")})
		is.Equal(said(err), "The verification is submitted. It can be edited once it is decided.")

		_, err = e.staff.RejectVerification(ctx, company, "The number is another company's")
		is.NoErr(err)
		file := e.file(t, company)
		is.Equal(file.Status, ticketing.VerificationRejected)
		is.Equal(file.Cases[0].Status, ticketing.VerificationRejected)
		is.Equal(*file.Cases[0].Reason, "The number is another company's")
		is.Equal(file.Cases[0].DecidedAt.String(), "2026-11-21T09:33:00.000Z")
		own, err := administrator.GetVerification(ctx, company)
		is.NoErr(err)
		is.Equal(own.Cases[0].Reason, nil) // The reason is for staff only.

		// The next case begins with the facts of the last one, which stays as it was decided.
		next, err := administrator.UpdateVerification(ctx, company, ticketing.UpdateVerificationParams{
			RegistrationNumber: of("RC 654321"),
		})
		is.NoErr(err)
		is.Equal(next.Number, int64(2))
		is.Equal(next.LegalName, "Adire Shows Limited")
		_, err = administrator.SubmitVerification(ctx, company)
		is.NoErr(err)
		_, err = e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{})
		is.NoErr(err)
		file = e.file(t, company)
		is.True(file.Current)
		is.Equal([]ticketing.VerificationStatus{file.Cases[0].Status, file.Cases[1].Status},
			[]ticketing.VerificationStatus{ticketing.VerificationApproved, ticketing.VerificationRejected})
		is.Equal(file.Cases[1].RegistrationNumber, "RC 123456")

		// The audit log names the facts that changed, but neither their values nor the reason of a rejection.
		for _, act := range e.acts(t, company) {
			text := show(t, act)
			for _, private := range []string{"RC 123456", "ada@adire.ng", "Ada Obi", "Marina", "another company", "+234"} {
				is.True(!strings.Contains(text, private))
			}
		}
	})
}

// TestAnApprovalIsRenewedWithoutAGap checks the KYB renewal of Section 1: an approval stays current while a new
// submission waits for its decision, so that there is no gap.
func TestAnApprovalIsRenewedWithoutAGap(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		company := e.unverified(t)
		_, err := e.staff.UpdateVerification(ctx, company, facts())
		is.NoErr(err)
		_, err = e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(time.Hour)),
		}) // The case stays a draft.
		is.NoErr(err)
		is.Equal(e.file(t, company).Cases[0].Status, ticketing.VerificationUnverified)

		e.clock.advance(30 * time.Minute)
		submitted, err := e.staff.SubmitVerification(ctx, company)
		is.NoErr(err)
		is.Equal(submitted.Number, int64(1))
		file := e.file(t, company)
		is.Equal(file.Status, ticketing.VerificationApproved)
		is.Equal(file.ApprovalExpiresAt.Time, opening.Add(time.Hour))
		is.True(verifiedNow(t, e, company))
		_, err = e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(3 * time.Hour)),
		})
		is.NoErr(err)
		is.Equal(e.file(t, company).Cases[0].Status, ticketing.VerificationApproved)
		e.clock.advance(time.Hour) // after the end of the first approval
		is.True(verifiedNow(t, e, company))

		// The same facts may be submitted again. A decision that changes nothing about the company still closes the
		// case.
		renewal, err := e.staff.SubmitVerification(ctx, company)
		is.NoErr(err)
		is.Equal(renewal.Number, int64(2))
		before := len(e.acts(t, company))
		_, err = e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(3 * time.Hour)),
		})
		is.NoErr(err)
		is.Equal(e.file(t, company).Cases[0].Status, ticketing.VerificationApproved)
		is.Equal(len(e.acts(t, company)), before+1)

		// A submission after the approval has expired is like the first one.
		e.clock.advance(2 * time.Hour)
		is.True(!verifiedNow(t, e, company))
		_, err = e.staff.SubmitVerification(ctx, company)
		is.NoErr(err)
		file = e.file(t, company)
		is.Equal(file.Status, ticketing.VerificationSubmitted)
		is.Equal(file.ApprovalExpiresAt, nil)
		is.True(!verifiedNow(t, e, company))

		// Rejecting a renewal ends the approval. A revocation also revokes a submitted case.
		_, err = e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{})
		is.NoErr(err)
		_, err = e.staff.SubmitVerification(ctx, company)
		is.NoErr(err)
		is.True(verifiedNow(t, e, company))
		_, err = e.staff.RevokeVerification(ctx, company)
		is.NoErr(err)
		file = e.file(t, company)
		is.Equal(file.Status, ticketing.VerificationRevoked)
		is.Equal(file.Cases[0].Status, ticketing.VerificationRevoked)
		is.True(!verifiedNow(t, e, company))
	})
}

// TestAGraceIsEndedAlone checks Section 1, precondition 1: a grace period is not an approval, is possible with any
// status, and ends without changing the status.
func TestAGraceIsEndedAlone(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		for _, verified := range []bool{false, true} {
			if verified {
				_, err := e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{})
				is.NoErr(err)
			}
			status := e.file(t, company).Status
			_, err := e.staff.GrantGrace(t.Context(), company, opening.Add(time.Hour))
			is.NoErr(err)
			is.True(verifiedNow(t, e, company))
			is.Equal(e.file(t, company).Status, status)
			for range 2 {
				ended, err := e.staff.EndGrace(t.Context(), company)
				is.NoErr(err)
				is.Equal(ended.Verification.GraceUntil, nil)
				is.Equal(ended.Verification.Status, status)
			}
			is.Equal(verifiedNow(t, e, company), verified)
		}
	})
}

// TestFactsOfAVerificationAreWellFormed checks the limit of each fact, on both sides.
func TestFactsOfAVerificationAreWellFormed(t *testing.T) {
	t.Parallel()
	long := func(n int) *string { return of(strings.Repeat("é", n)) }
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range []struct {
			give ticketing.UpdateVerificationParams
			want string
		}{
			{ticketing.UpdateVerificationParams{LegalName: long(200)}, ""},
			{ticketing.UpdateVerificationParams{LegalName: long(201)}, "legalName: must be at most 200 characters"},
			{ticketing.UpdateVerificationParams{LegalName: of("a\nb")}, "legalName: must not contain control characters"},
			{ticketing.UpdateVerificationParams{RegistrationNumber: long(100)}, ""},
			{
				ticketing.UpdateVerificationParams{RegistrationNumber: long(101)},
				"registrationNumber: must be at most 100 characters",
			},
			{ticketing.UpdateVerificationParams{Country: of("gh")}, ""},
			{ticketing.UpdateVerificationParams{Country: of("ZZ")}, "country: must be a code of ISO 3166-1 alpha-2, such as NG"},
			{
				ticketing.UpdateVerificationParams{Country: of("NGA")}, "country: must be a code of ISO 3166-1 alpha-2, such as NG",
			},
			{
				ticketing.UpdateVerificationParams{Country: of("NG GH")},
				"country: must be a code of ISO 3166-1 alpha-2, such as NG",
			},
			{ticketing.UpdateVerificationParams{Address: of("1 Marina\n\tLagos")}, ""},
			{ticketing.UpdateVerificationParams{Address: long(500)}, ""},
			{ticketing.UpdateVerificationParams{Address: long(501)}, "address: must be at most 500 characters"},
			{ticketing.UpdateVerificationParams{ContactName: long(200)}, ""},
			{ticketing.UpdateVerificationParams{ContactName: long(201)}, "contactName: must be at most 200 characters"},
			{ticketing.UpdateVerificationParams{ContactEmail: of(strings.Repeat("a", 242) + "@example.com")}, ""},
			{
				ticketing.UpdateVerificationParams{ContactEmail: of(strings.Repeat("a", 243) + "@example.com")},
				"contactEmail: must be at most 254 characters",
			},
			{
				ticketing.UpdateVerificationParams{ContactEmail: of("ada")},
				"contactEmail: must be one email address, such as ada@example.com",
			},
			{ticketing.UpdateVerificationParams{ContactPhone: long(50)}, ""},
			{ticketing.UpdateVerificationParams{ContactPhone: long(51)}, "contactPhone: must be at most 50 characters"},
			{ticketing.UpdateVerificationParams{
				LegalName: of(""), RegistrationNumber: of(""), Country: of(""), Address: of(""), ContactName: of(""),
				ContactEmail: of(""), ContactPhone: of(""),
			}, ""},
		} {
			before := e.file(t, company)
			_, err := e.staff.UpdateVerification(t.Context(), company, test.give)
			is.New(t).Equal(said(err), test.want)
			if test.want != "" {
				is.New(t).Equal(e.file(t, company), before)
			}
		}
	})
}

// TestEditsOfADraftAddUp checks that concurrent edits and submissions lose no change.
func TestEditsOfADraftAddUp(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		all := facts()
		parts := []ticketing.UpdateVerificationParams{
			{LegalName: all.LegalName},
			{RegistrationNumber: all.RegistrationNumber},
			{Country: all.Country},
			{Address: all.Address},
			{ContactName: all.ContactName},
			{ContactEmail: all.ContactEmail},
			{ContactPhone: all.ContactPhone},
		}
		errs := make([]error, len(parts))
		var wg sync.WaitGroup
		for i, part := range parts {
			wg.Go(func() { errs[i] = second(e.staff.UpdateVerification(t.Context(), company, part)) })
		}
		wg.Wait()
		is.NoErr(errors.Join(errs...))
		errs = make([]error, 2)
		numbers := make([]int64, 2)
		for i := range errs {
			wg.Go(func() {
				submitted, err := e.staff.SubmitVerification(t.Context(), company)
				numbers[i], errs[i] = submitted.Number, err
			})
		}
		wg.Wait()
		is.NoErr(errors.Join(errs...))
		is.Equal(numbers, []int64{1, 1})
		is.Equal(len(e.file(t, company).Cases), 1)
		is.Equal(fmt.Sprint(len(e.acts(t, company))), "9") // created, edited seven times, submitted once
	})
}
