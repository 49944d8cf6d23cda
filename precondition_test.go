package ticketing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// lacks returns the words of every precondition that is missing, by name, and checks what holds of each readiness.
func (e *env) lacks(t *testing.T, company uuid.UUID) (ticketing.Readiness, map[ticketing.PreconditionName]string) {
	t.Helper()
	is := is.New(t)
	shown, err := e.staff.Readiness(t.Context(), company)
	is.NoErr(err)
	var names []ticketing.PreconditionName
	lacks := make(map[ticketing.PreconditionName]string)
	for _, p := range shown.Preconditions {
		names = append(names, p.Name)
		is.Equal(p.State == ticketing.PreconditionMet, p.Missing == "")
		if p.State == ticketing.PreconditionMissing {
			lacks[p.Name] = p.Missing
			is.True(p.Since == nil && p.Until == nil)
		}
	}
	is.Equal(names, []ticketing.PreconditionName{
		ticketing.PreconditionVerification, ticketing.PreconditionBranding, ticketing.PreconditionCommission,
		ticketing.PreconditionFloat, ticketing.PreconditionAPIKey, ticketing.PreconditionTestInbox,
	})
	is.Equal(shown.Ready, len(lacks) == 0)
	is.Equal(shown.Preconditions[5].State, ticketing.PreconditionUnchecked)
	return shown, lacks
}

// TestReadinessShowsWhatASaleLacks checks the table of Section 1: a new company lacks all but its branding, and what is
// set up for it is met, one precondition after the other.
func TestReadinessShowsWhatASaleLacks(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.clock.advance(time.Hour)
		shown, lacks := e.lacks(t, company)
		is.Equal(lacks, map[ticketing.PreconditionName]string{
			ticketing.PreconditionVerification: "The company is not verified. Fill in the verification and submit it.",
			ticketing.PreconditionCommission:   "No commission rate is in force. Platform staff schedule it.",
			ticketing.PreconditionFloat:        "FLOAT was never credited. Platform staff credit what the company has paid in.",
			ticketing.PreconditionAPIKey:       "The company has no active API key. Issue one.",
		})
		is.True(strings.HasPrefix(show(t, shown), `{"ready":false,"at":"2026-11-21T10:30:00.000Z",`+
			`"preconditions":[{"name":"VERIFICATION","state":"MISSING","since":null,"until":null,`+
			`"missing":"The company is not verified. Fill in`))
		is.Equal(shown.Preconditions[1].Since.Time, opening)

		_, err := e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(48 * time.Hour)),
		})
		is.NoErr(err)
		e.credit(t, company, 50_00, "PSK-00000001")
		e.issue(t, company)
		_, lacks = e.lacks(t, company)
		is.Equal(lacks, map[ticketing.PreconditionName]string{
			ticketing.PreconditionCommission: "No commission rate is in force. Platform staff schedule it.",
			ticketing.PreconditionAPIKey:     "No active API key carries COMPANY:checkout:create. Issue one that does.",
		})
		key, err := e.staff.IssueAPIKey(t.Context(), company, "shop", []ticketing.Grant{ticketing.GrantCheckoutCreate})
		is.NoErr(err)
		rate, err := money.ParseRate("250", money.BasisPoints)
		is.NoErr(err)
		from := e.clock.now().Add(time.Minute)
		_, err = e.staff.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{
			Rate: rate, EffectiveFrom: &from,
		})
		is.NoErr(err)
		_, lacks = e.lacks(t, company)
		is.Equal(len(lacks), 1) // The rate is not in force yet.
		e.clock.advance(time.Minute)
		shown, lacks = e.lacks(t, company)
		is.Equal(len(lacks), 0)
		is.Equal(shown.Preconditions[0].Until.Time, opening.Add(48*time.Hour))
		is.Equal(shown.Preconditions[2].Since.Time, from)
		is.Equal(shown.Preconditions[4].Since.Time, key.CreatedAt.Time)

		_, err = e.staff.RevokeAPIKey(t.Context(), key.ID)
		is.NoErr(err)
		_, err = e.staff.SuspendWallet(t.Context(), company, ledger.Earnings)
		is.NoErr(err)
		_, lacks = e.lacks(t, company)
		is.Equal(len(lacks), 2)
		is.Equal(lacks[ticketing.PreconditionFloat], "The wallet EARNINGS is suspended. Platform staff can activate it.")
	})
}

// TestReadinessFollowsTheVerification checks precondition 1: an active company with a current approval or a grace,
// until the later of both ends.
func TestReadinessFollowsTheVerification(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		at := func(hours int) time.Time { return opening.Add(time.Duration(hours) * time.Hour) }
		verification := func() (until time.Time, missing string) {
			shown, _ := e.lacks(t, company)
			if p := shown.Preconditions[0]; p.Until != nil {
				until = p.Until.Time
			}
			return until, shown.Preconditions[0].Missing
		}
		met := func(want time.Time) {
			t.Helper()
			until, missing := verification()
			is.Equal(missing, "")
			is.Equal(until, want)
		}
		missing := func(want string) {
			t.Helper()
			_, missing := verification()
			is.True(strings.Contains(missing, want))
		}
		_, err := e.staff.GrantGrace(t.Context(), company, at(2))
		is.NoErr(err)
		met(at(2))
		_, err = e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{ExpiresAt: new(at(1))})
		is.NoErr(err)
		met(at(2)) // The grace goes on after the approval.
		_, err = e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{ExpiresAt: new(at(3))})
		is.NoErr(err)
		met(at(3))
		e.clock.advance(3 * time.Hour)
		missing("expired")
		_, err = e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{})
		is.NoErr(err)
		met(time.Time{})
		_, err = e.staff.SuspendCompany(t.Context(), company)
		is.NoErr(err)
		missing("suspended")
		_, err = e.staff.ActivateCompany(t.Context(), company)
		is.NoErr(err)
		_, err = e.staff.RejectVerification(t.Context(), company, "A private reason")
		is.NoErr(err)
		missing("rejected")
		_, err = e.staff.RevokeVerification(t.Context(), company)
		is.NoErr(err)
		missing("revoked")
	})
}

// TestReadinessSeesASpentFloat checks that a FLOAT that was credited and paid out to 0.00 is missing.
func TestReadinessSeesASpentFloat(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		readiness := func() ticketing.Precondition {
			shown, err := shop.Staff.Readiness(t.Context(), shop.Company.ID)
			is.NoErr(err)
			return shown.Preconditions[3]
		}
		is.Equal(readiness().State, ticketing.PreconditionMet)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", shop.Wallets(t).Float, 1)
		shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(readiness().Missing, "FLOAT is empty. Platform staff credit what the company has paid in.")
	})
}

// TestReadinessDoesNotCallAnUncreditedFloatSpent checks that free tickets, which write ledger rows of 0.00, do not make
// a FLOAT look as if it had been credited and spent.
func TestReadinessDoesNotCallAnUncreditedFloatSpent(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: ticketingtest.NoFloat}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 0, 1)
		shop.Sell(t, event.ID, "VIP", 1)
		shown, err := shop.Staff.Readiness(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(shown.Preconditions[3].Missing, "FLOAT is empty. Platform staff credit what the company has paid in.")
	})
}
