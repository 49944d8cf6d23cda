package ticketing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// verifiedNow reports whether the company is currently verified, by a credit to FLOAT, which requires a verification.
func verifiedNow(t *testing.T, e *env, companyID uuid.UUID) bool {
	t.Helper()
	_, err := e.staff.CreditFloat(t.Context(), companyID, "verified-"+uuid.NewString(), 1)
	if err != nil {
		is.New(t).Equal(said(err), "Current company verification is required")
	}
	return err == nil
}

func TestVerificationHoldsWhileApprovedOrInGrace(t *testing.T) {
	t.Parallel()
	hour := opening.Add(time.Hour)
	approve := func(until *time.Time) func(*testing.T, *env, uuid.UUID) (ticketing.Company, error) {
		return func(t *testing.T, e *env, id uuid.UUID) (ticketing.Company, error) {
			return e.staff.ApproveVerification(t.Context(), id, ticketing.ApprovalParams{ExpiresAt: until})
		}
	}
	grace := func(t *testing.T, e *env, id uuid.UUID) (ticketing.Company, error) {
		return e.staff.GrantGrace(t.Context(), id, hour)
	}
	reject := func(t *testing.T, e *env, id uuid.UUID) (ticketing.Company, error) {
		return e.staff.RejectVerification(t.Context(), id, "No registration number")
	}
	revoke := func(t *testing.T, e *env, id uuid.UUID) (ticketing.Company, error) {
		return e.staff.RevokeVerification(t.Context(), id)
	}
	type step = func(*testing.T, *env, uuid.UUID) (ticketing.Company, error)
	tests := []struct {
		name   string
		steps  []step
		status ticketing.VerificationStatus
		before bool // a millisecond before the end of the hour
		after  bool // at the end of the hour
	}{
		{name: "nothing", status: ticketing.VerificationUnverified},
		{name: "approved for good", steps: []step{approve(nil)}, status: "APPROVED", before: true, after: true},
		{name: "approved for an hour", steps: []step{approve(&hour)}, status: "APPROVED", before: true},
		{name: "grace", steps: []step{grace}, status: "UNVERIFIED", before: true},
		{name: "rejected", steps: []step{approve(nil), reject}, status: "REJECTED"},
		{name: "rejected in grace", steps: []step{grace, reject}, status: "REJECTED", before: true},
		{name: "revoked", steps: []step{approve(nil), revoke}, status: "REVOKED"},
		{name: "revoked in grace", steps: []step{grace, revoke}, status: "REVOKED"},
		{name: "approved after a revocation", steps: []step{revoke, approve(&hour)}, status: "APPROVED", before: true},
		{
			name: "approval made longer", steps: []step{approve(&hour), approve(nil)}, status: "APPROVED", before: true,
			after: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				id := e.unverified(t)
				for _, step := range test.steps {
					answer, err := step(t, e, id)
					is.NoErr(err)
					found, err := e.staff.GetCompany(t.Context(), id)
					is.NoErr(err)
					is.Equal(found, answer)
				}
				found, err := e.staff.GetCompany(t.Context(), id)
				is.NoErr(err)
				is.Equal(found.Verification.Status, test.status)
				e.clock.advance(time.Hour - time.Millisecond)
				is.Equal(verifiedNow(t, e, id), test.before)
				e.clock.advance(time.Millisecond)
				is.Equal(verifiedNow(t, e, id), test.after)
			})
		})
	}
}

func TestVerificationShowsExpiryAndGrace(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		id := e.unverified(t)
		// Times are kept in UTC and milliseconds.
		zone := time.FixedZone("WAT", 3600)
		_, err := e.staff.GrantGrace(t.Context(), id, opening.Add(time.Hour+time.Microsecond).In(zone))
		is.NoErr(err)
		company, err := e.staff.ApproveVerification(t.Context(), id, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(2 * time.Hour).In(zone)),
		})
		is.NoErr(err)
		is.Equal(company.Verification.GraceUntil.String(), "2026-11-21T10:30:00.000Z")
		is.Equal(company.Verification.ApprovalExpiresAt.String(), "2026-11-21T11:30:00.000Z")
		company, err = e.staff.RevokeVerification(t.Context(), id)
		is.NoErr(err)
		is.Equal(company.Verification, ticketing.Verification{Status: ticketing.VerificationRevoked})
	})
}

func TestVerificationRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		id := e.verified(t)
		before, err := e.staff.GetCompany(t.Context(), id)
		is.NoErr(err)
		for _, at := range []time.Time{opening, opening.Add(time.Microsecond), opening.Add(-time.Hour)} {
			_, err := e.staff.ApproveVerification(t.Context(), id, ticketing.ApprovalParams{ExpiresAt: &at})
			is.Equal(said(err), "expires: must be in the future")
			_, err = e.staff.GrantGrace(t.Context(), id, at)
			is.Equal(said(err), "until: must be in the future")
		}
		// Neither the zero time nor a fraction of a millisecond after it means an approval that never expires.
		for _, at := range []time.Time{{}, time.Time{}.Add(time.Microsecond)} {
			_, err = e.staff.ApproveVerification(t.Context(), id, ticketing.ApprovalParams{ExpiresAt: &at})
			is.Equal(said(err), "expires: must be in the future")
		}
		_, err = e.staff.GrantGrace(t.Context(), id, time.Time{})
		is.Equal(said(err), "until: must be in the future")
		_, err = e.staff.GrantGrace(t.Context(), id, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
		is.Equal(said(err), "until: must be in the years 1 to 9999")
		_, err = e.staff.RejectVerification(t.Context(), id, " \n ")
		is.Equal(said(err), "reason: must not be empty")
		_, err = e.staff.RejectVerification(t.Context(), id, strings.Repeat("x", 501))
		is.Equal(said(err), "reason: must be at most 500 characters")
		after, err := e.staff.GetCompany(t.Context(), id)
		is.NoErr(err)
		is.Equal(after, before)

		_, err = e.staff.RejectVerification(t.Context(), id, " "+strings.Repeat("é", 500)+" ")
		is.NoErr(err)
	})
}
