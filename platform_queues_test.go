package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

// named creates a company with a name.
func (e *env) named(t *testing.T, name string) uuid.UUID {
	t.Helper()
	company, err := e.staff.CreateCompany(t.Context(), name)
	is.New(t).NoErr(err)
	return company.ID
}

// TestSubmittedCasesWaitInOrder checks that staff see what waits for their decision, longest waiting first: also the
// renewal of a company that is approved, and nothing that is decided or a draft.
func TestSubmittedCasesWaitInOrder(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		waiting := func() string {
			t.Helper()
			var found []string
			for params := (ticketing.PageParams{Limit: 1}); ; {
				page, err := e.staff.ListSubmittedCases(ctx, params)
				is.NoErr(err)
				for _, one := range page.Items {
					found = append(found, fmt.Sprintf("%s %d", one.CompanyName, one.Number))
				}
				if params.Cursor = page.NextCursor; !page.HasMore {
					return strings.Join(found, ", ")
				}
			}
		}
		is.Equal(waiting(), "")
		ids := make(map[string]uuid.UUID)
		for _, name := range []string{"Draft", "Renewal", "Second", "Third"} {
			ids[name] = e.named(t, name)
			_, err := e.staff.UpdateVerification(ctx, ids[name], facts())
			is.NoErr(err)
		}
		submit := func(name string) {
			t.Helper()
			e.clock.advance(time.Minute)
			_, err := e.staff.SubmitVerification(ctx, ids[name])
			is.NoErr(err)
		}
		submit("Third")
		submit("Renewal")
		_, err := e.staff.ApproveVerification(ctx, ids["Renewal"], ticketing.ApprovalParams{})
		is.NoErr(err)
		submit("Second")
		submit("Renewal")
		is.Equal(waiting(), "Third 1, Second 1, Renewal 2")
		_, err = e.staff.RejectVerification(ctx, ids["Third"], "no such company")
		is.NoErr(err)
		is.Equal(waiting(), "Second 1, Renewal 2")
		submit("Third")
		is.Equal(waiting(), "Second 1, Renewal 2, Third 2")

		page, err := e.staff.ListSubmittedCases(ctx, ticketing.PageParams{Limit: 1})
		is.NoErr(err)
		is.Equal(page.Items[0].CompanyID, ids["Second"])
		is.Equal(page.Items[0].LegalName, "Adire Shows Limited")
		_, err = e.staff.ListOpenSettlements(ctx, ticketing.PageParams{Cursor: page.NextCursor})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
	})
}

// TestOpenSettlementsWaitInOrder checks that staff see every settlement that is open, oldest first, with the company's
// name and the last four digits of the account, and that a decision takes it away.
func TestOpenSettlementsWaitInOrder(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		waiting := func() []ticketing.OpenSettlement {
			t.Helper()
			var found []ticketing.OpenSettlement
			for params := (ticketing.PageParams{Limit: 1}); ; {
				page, err := e.staff.ListOpenSettlements(ctx, params)
				is.NoErr(err)
				found = append(found, page.Items...)
				if params.Cursor = page.NextCursor; !page.HasMore {
					return found
				}
			}
		}
		is.Equal(len(waiting()), 0)
		var owns []subject
		for _, name := range []string{"First", "Second", "Third"} {
			own := e.subject(t)
			_, err := e.staff.RenameCompany(ctx, own.company, name)
			is.NoErr(err)
			e.sellFor(t, &own)
			owns = append(owns, own)
			e.clock.advance(time.Second)
		}
		found := waiting()
		is.Equal(len(found), 3)
		for i, name := range []string{"First", "Second", "Third"} {
			is.Equal(found[i].CompanyName, name)
			is.Equal(found[i].CompanyID, owns[i].company)
			is.Equal(found[i].ID, owns[i].settlement)
			is.Equal(found[i].Status, ticketing.SettlementPending)
			is.Equal(found[i].Amount.String(), "10.00")
			is.Equal(len(found[i].BankAccountLast4), 4)
		}
		_, err := e.staff.ApproveSettlement(ctx, owns[0].settlement)
		is.NoErr(err)
		_, err = e.staff.RejectSettlement(ctx, owns[2].settlement, "no such account")
		is.NoErr(err)
		found = waiting()
		is.Equal(len(found), 1)
		is.Equal(found[0].ID, owns[1].settlement)

		named, err := e.staff.GetSettlements(ctx, []ticketing.SettlementRef{
			{CompanyID: owns[2].company, ID: owns[2].settlement},
			{CompanyID: owns[2].company, ID: owns[0].settlement},
			{CompanyID: owns[0].company, ID: owns[0].settlement},
		})
		is.NoErr(err)
		is.Equal(len(named), 2) // Each with its own company.
		is.Equal(named[0].CompanyName, "Third")
		is.Equal(*named[0].Reason, "no such account")
		is.Equal(named[1].CompanyName, "First")
		is.Equal(named[1].Status, ticketing.SettlementCompleted)
		names, err := e.staff.CompanyNames(ctx, []uuid.UUID{owns[1].company, uuid.New(), owns[0].company})
		is.NoErr(err)
		is.Equal(names, []string{"Second", "", "First"})

		own := ticketing.Actor{CompanyID: owns[1].company, Permissions: ticketing.AllPermissions()}
		_, err = e.As(own).ListOpenSettlements(ctx, ticketing.PageParams{})
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestLowFloats checks that the lowest balances come first and are read again after ten seconds, not before.
func TestLowFloats(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		e.clock.advance(time.Hour)
		low := func(limit int) string {
			t.Helper()
			found, err := e.staff.LowFloats(ctx, limit)
			is.NoErr(err)
			var lines []string
			for _, one := range found.Companies {
				lines = append(lines, fmt.Sprintf("%s %s %v %s %s",
					one.CompanyName, one.Float, one.LowBalance, one.FloatStatus, one.Status))
			}
			return strings.Join(lines, ", ")
		}
		is.Equal(low(0), "")
		e.clock.advance(10 * time.Second)
		for _, name := range []string{"Rich", "Edge", "Poor"} {
			company := e.named(t, name)
			_, err := e.staff.ApproveVerification(ctx, company, ticketing.ApprovalParams{})
			is.NoErr(err)
			amount := map[string]int64{"Rich": 2000_00, "Edge": 1000_00, "Poor": 999_99}[name]
			_, err = e.staff.CreditFloat(ctx, company, "PSK-of-"+name, money.Amount(amount))
			is.NoErr(err)
			if name == "Edge" {
				_, err = e.staff.SuspendWallet(ctx, company, ledger.Float)
				is.NoErr(err)
			}
		}
		none := e.named(t, "None")
		const before = "None 0.00 true ACTIVE ACTIVE, Poor 999.99 true ACTIVE ACTIVE, " +
			"Edge 1000.00 false SUSPENDED ACTIVE, Rich 2000.00 false ACTIVE ACTIVE"
		is.Equal(low(0), before)
		is.Equal(low(1), "None 0.00 true ACTIVE ACTIVE")

		_, err := e.staff.SuspendCompany(ctx, none)
		is.NoErr(err)
		e.clock.advance(10*time.Second - time.Millisecond)
		is.Equal(low(0), before)
		e.clock.advance(time.Millisecond)
		is.Equal(low(1), "None 0.00 true ACTIVE SUSPENDED")
		// A clock that was set back does not keep them for long.
		e.clock.advance(-time.Hour)
		_, err = e.staff.ActivateCompany(ctx, none)
		is.NoErr(err)
		is.Equal(low(1), "None 0.00 true ACTIVE ACTIVE")
		for _, limit := range []int{-1, 101} {
			_, err = e.staff.LowFloats(ctx, limit)
			is.Equal(code(err), ticketing.CodeInvalidRequest)
		}
		// The caller may change what it got.
		found, err := e.staff.LowFloats(ctx, 1)
		is.NoErr(err)
		found.Companies[0].CompanyName = "spoilt"
		is.Equal(low(1), "None 0.00 true ACTIVE ACTIVE")
	})
}

// TestDeadLettersOfADay checks that deliveries that failed within a day are counted by company, those with the most
// first, whenever they were made.
func TestDeadLettersOfADay(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		counted := func() string {
			t.Helper()
			found, err := e.staff.CountDeadLetters(ctx)
			is.NoErr(err)
			is.True(found.Since.Equal(e.clock.now().Add(-24 * time.Hour)))
			is.True(!found.Capped)
			lines := []string{fmt.Sprint(found.Total)}
			for _, one := range found.Companies {
				lines = append(lines, fmt.Sprintf("%s %d", one.CompanyName, one.Count))
			}
			return strings.Join(lines, ", ")
		}
		is.Equal(counted(), "0")
		dead := func(_ int, delivery *driver.Delivery) { delivery.Status = ticketing.DeliveryFailed }
		few, many := e.hook(t, e.named(t, "Few")), e.hook(t, e.named(t, "Many"))
		e.delivered(t, few.ID, 2, dead)
		e.delivered(t, few.ID, 1, func(_ int, d *driver.Delivery) { d.Status = ticketing.DeliverySucceeded })
		e.delivered(t, few.ID, 1, nil)
		e.clock.advance(time.Hour)
		e.delivered(t, many.ID, 3, dead)
		is.Equal(counted(), "5, Many 3, Few 2")
		// The two of the first company failed at this time and a second later.
		e.clock.advance(23 * time.Hour)
		is.Equal(counted(), "5, Many 3, Few 2")
		e.clock.advance(time.Millisecond)
		is.Equal(counted(), "4, Many 3, Few 1")
		e.clock.advance(time.Second)
		is.Equal(counted(), "3, Many 3")
	})
}

// checked returns the companies of the list of book checks as text.
func (e *env) checked(t *testing.T, svc *ticketing.Service) string {
	t.Helper()
	is := is.New(t)
	var lines []string
	for params := (ticketing.PageParams{Limit: 1}); ; {
		page, err := svc.As(ticketing.Staff("test")).ListBookChecks(t.Context(), params)
		is.NoErr(err)
		for _, one := range page.Items {
			line := one.CompanyName + " never"
			if check := one.LastCheck; check != nil {
				line = fmt.Sprintf("%s %s %v %d %d", one.CompanyName, check.VerifiedAt.Sub(opening), check.OK,
					check.Entries, check.Problems)
			}
			lines = append(lines, line)
		}
		if params.Cursor = page.NextCursor; !page.HasMore {
			return strings.Join(lines, ", ")
		}
	}
}

// TestBookChecksAreKept checks that a verification of one company or of all is kept with its result.
func TestBookChecksAreKept(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		own, other := e.named(t, "Own"), e.named(t, "Other")
		if own.String() > other.String() {
			// Both were made at one time, so the ids order them.
			_, err := e.staff.RenameCompany(ctx, own, "Other")
			is.NoErr(err)
			_, err = e.staff.RenameCompany(ctx, other, "Own")
			is.NoErr(err)
			own, other = other, own
		}
		is.Equal(e.checked(t, e.Service), "Own never, Other never")
		_, err := e.staff.ApproveVerification(ctx, own, ticketing.ApprovalParams{})
		is.NoErr(err)
		e.credit(t, own, 100_00, "PSK-0001")
		e.clock.advance(time.Minute)
		viewer := ticketing.Actor{CompanyID: own, Permissions: []ticketing.Permission{ticketing.PermissionWalletRead}}
		_, err = e.As(viewer).VerifyLedger(ctx, own)
		is.NoErr(err)
		is.Equal(e.checked(t, e.Service), "Own 1m0s true 1 0, Other never")

		e.clock.advance(time.Minute)
		e.broken = true
		e.write(t, other, func(ctx context.Context, tx driver.Tx) error {
			wallets, err := tx.LockWallets(ctx, driver.WalletRefs(other))
			if err != nil {
				return err
			}
			wallets[0].Balance = 5
			return tx.UpdateWallets(ctx, []driver.Wallet{wallets[0].Wallet})
		})
		report, err := e.staff.VerifyLedger(ctx, uuid.Nil)
		is.NoErr(err)
		is.Equal(e.checked(t, e.Service), fmt.Sprintf("Own 2m0s true 1 0, Other 2m0s false 0 %d", len(report.Problems)))
	})
}

// TestBookChecksDoNotFailAVerification checks that books are verified where nothing can be written.
func TestBookChecksDoNotFailAVerification(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := newEnv(t, memory.New())
	company := e.verified(t)
	e.credit(t, company, 100_00, "PSK-0001")
	e.store = standby{e.store}
	svc := e.service(t, secretKey('a'))
	report, err := svc.As(ticketing.Staff("test")).VerifyLedger(t.Context(), company)
	is.NoErr(err)
	is.True(report.OK)
	is.Equal(report.Entries, int64(1))
	is.Equal(e.checked(t, svc), "Adire Concerts never")
	is.True(strings.Contains(e.log.String(), `level=WARN msg="the verification of the books was not recorded"`))
}

// standby is a store that serves reads alone.
type standby struct{ driver.Store }

func (standby) Update(context.Context, func(context.Context, driver.Tx) error) error {
	return fmt.Errorf("%w: %w", driver.ErrUnavailable, errors.New("read-only"))
}
