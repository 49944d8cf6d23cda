package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestVerificationComparesOrdersWithTheirFacts checks that every order has its facts in the outbox exactly once, that
// balance.low is among them if the order took FLOAT below the threshold, and that there are no other facts. In each
// case a sale of 10.00 from the funded FLOAT leads to the given problems.
func TestVerificationComparesOrdersWithTheirFacts(t *testing.T) {
	t.Parallel()
	type made func(order driver.Order) []driver.Fact
	of := func(kinds ...ticketing.FactType) made {
		return func(order driver.Order) []driver.Fact {
			var facts []driver.Fact
			for _, kind := range kinds {
				fact := factsOf([]driver.Order{order})[0]
				fact.Type = kind
				facts = append(facts, fact)
			}
			return facts
		}
	}
	const fromBefore = "order.created commission.accrued notification.ticket_email balance.low"
	var single [4]ticketing.FactType
	_, err := fmt.Sscan(fromBefore, &single[0], &single[1], &single[2], &single[3])
	is.New(t).NoErr(err)
	const much, crossing = 5000_00, 1000_00
	another := uuid.New()
	tests := []struct {
		name  string
		float money.Amount
		facts made
		want  []string // each after "order" and its id
	}{
		{name: "its fact", float: much, facts: of(driver.FactSale)},
		{name: "its fact with balance.low", float: crossing, facts: of(driver.FactSaleLow)},
		{name: "none", float: much, facts: of(), want: []string{"the outbox has no fact of it"}},
		{
			name: "two", float: much, facts: of(driver.FactSale, driver.FactSale),
			want: []string{"the outbox has more than one fact of it"},
		},
		{
			name: "balance.low for nothing", float: much, facts: of(driver.FactSaleLow),
			want: []string{"its fact says that it took FLOAT below 1000.00, but it did not"},
		},
		{
			name: "balance.low forgotten", float: crossing, facts: of(driver.FactSale),
			want: []string{"it took FLOAT below 1000.00, but its fact does not say so"},
		},
		{
			name: "that of another order", float: much, facts: func(order driver.Order) []driver.Fact {
				facts := factsOf([]driver.Order{order})
				facts[0].Subject = another
				return facts
			},
			want: []string{
				"the outbox has no fact of it",
				"order " + another.String() + ": the outbox has a fact of it, but the order does not exist",
			},
		},
		{name: "one for each kind, as they were kept at first", float: much, facts: of(single[:3]...)},
		{name: "one for each kind, with balance.low", float: crossing, facts: of(single[:]...)},
		{
			name: "one for each kind but one", float: much, facts: of(single[0], single[2]),
			want: []string{"the outbox lacks one of its facts"},
		},
		{
			name: "one for each kind, and one more", float: crossing, facts: of(append(single[:], single[3])...),
			want: []string{"the outbox has more than one fact of it"},
		},
		{name: "a sample beside it", float: much, facts: of(driver.FactSale, "sample.order.created")},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				company := e.verified(t)
				e.credit(t, company, test.float, "PSK-"+company.String())
				var order uuid.UUID
				e.sell(t, company, func(r *records) { r.facts, order = test.facts, r.orders[0].ID })
				e.sell(t, company, nil)
				want := slices.Clone(test.want)
				for i, text := range want {
					if i == 0 {
						want[i] = fmt.Sprintf("order %s: %s", order, text)
					}
				}
				wantProblems(t, e, company, want)
			})
		}
	})
}

// TestVerificationComparesValidationsWithTheirFacts checks that every validated admission has its fact exactly once,
// and that there are no other facts.
func TestVerificationComparesValidationsWithTheirFacts(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		shop.BooksAreBroken()
		h := newHistory(t, shop)
		twice, never := h.sold.Lines[0].AdmissionID, h.cancelled.Lines[0].AdmissionID
		silent := h.sold.Lines[1].AdmissionID
		h.alter(t, func(ctx context.Context, tx driver.Tx) error {
			locked, err := tx.LockAdmissions(ctx, []driver.AdmissionRef{{CompanyID: h.company, ID: silent}})
			if err != nil {
				return err
			}
			locked[0].ValidationID, locked[0].ValidatedAt = uuid.New(), shop.Clock.Now()
			if err := tx.UpdateAdmissions(ctx, locked); err != nil {
				return err
			}
			if err := tx.AppendResults(ctx, []driver.IdempotencyResult{{
				IdempotencyKey: driver.IdempotencyKey{CompanyID: h.company, Operation: "admissions.validate", Key: "by-hand-0001"},
				Digest:         "v1.abc", Outcome: string(ticketing.OutcomeAdmitted), Subject: silent, CreatedAt: shop.Clock.Now(),
			}}); err != nil {
				return err
			}
			var facts []driver.Fact
			for _, admission := range []uuid.UUID{twice, never} {
				facts = append(facts, driver.Fact{
					CompanyID: h.company, At: shop.Clock.Now(), ID: uuid.New(), Type: ticketing.FactTicketValidated,
					Subject: admission,
				})
			}
			return tx.AppendFacts(ctx, facts)
		})
		report, err := shop.Staff.VerifyLedger(t.Context(), h.company)
		is.New(t).NoErr(err)
		wantTold(t, report,
			fmt.Sprintf("admission %s: it is validated, but the outbox has no fact of that", silent),
			fmt.Sprintf("admission %s: the outbox has more than one fact of its validation", twice),
			fmt.Sprintf("admission %s: the outbox has a fact of its validation, but it is not validated", never),
		)
	})
}

// TestVerificationKnowsWhatRetentionRemoved checks that verification does not miss facts that retention has removed, at
// any stage of the removal. Facts are removed one by one, the oldest first, sales of one moment and validations among
// them, and the books stay in order. A fact that is not yet handled stays, and so do all newer facts.
func TestVerificationKnowsWhatRetentionRemoved(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, company := shop.Event(t).ID, shop.Company.ID
		shop.Inventory(t, event, "VIP", 10_00, 100)
		var orders []ticketing.Order
		for n := range 8 {
			orders = append(orders, shop.Sell(t, event, "VIP", 1), shop.Sell(t, event, "VIP", 2))
			shop.Scan(t, event, orders[n].Lines[0].AdmissionID)
			if n == 4 {
				_, err := shop.Staff.TriggerWebhook(t.Context(), company, ticketing.FactOrderCreated)
				is.NoErr(err)
			}
			shop.Clock.Advance(time.Hour)
		}
		handle := func(limit int) {
			onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
				facts, err := tx.TakeFacts(ctx, company, limit)
				if err != nil {
					return err
				}
				if err := tx.PutSalesProgress(ctx, uncounted(company)); err != nil {
					return err
				}
				return tx.DispatchFacts(ctx, facts, true)
			})
		}
		prune := func() (removed int) {
			onCompany(t, shop, func(ctx context.Context, tx driver.Tx) (err error) {
				removed, err = tx.PruneFacts(ctx, company, shop.Clock.Now().Add(-time.Hour), 1)
				return err
			})
			report, err := shop.Staff.VerifyLedger(t.Context(), company)
			is.NoErr(err)
			wantTold(t, report)
			return removed
		}
		handle(10)
		removed := 0
		for prune() == 1 {
			removed++
		}
		is.True(removed > 0 && removed < 10)
		handle(100)
		for prune() == 1 {
			removed++
		}
		is.Equal(removed, 8*3+1-3) // All but the facts that are younger than the retention.
	})
}

// uncounted is the progress of a company whose orders are in no sum, for tests that mark or lose facts themselves.
func uncounted(company uuid.UUID) driver.SalesProgress {
	return driver.SalesProgress{CompanyID: company, Uncounted: 1_000_000}
}

// TestVerificationMissesFactsThatAreNewerThanTheOldest checks that verification finds a lost fact among those that are
// left, even if retention has removed older ones.
func TestVerificationMissesFactsThatAreNewerThanTheOldest(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		company := e.verified(t)
		e.credit(t, company, 5000_00, "PSK-0001")
		var lost, recent uuid.UUID
		forget := func(order *uuid.UUID) func(r *records) {
			return func(r *records) {
				*order = r.orders[0].ID
				r.facts = func(driver.Order) []driver.Fact { return nil }
			}
		}
		for n := range 6 {
			e.clock.at = e.clock.at.Add(time.Hour)
			if n == 4 {
				e.sell(t, company, forget(&lost))
				continue
			}
			e.sell(t, company, nil)
		}
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			facts, err := tx.TakeFacts(ctx, company, 9)
			if err != nil {
				return err
			}
			if err := tx.PutSalesProgress(ctx, uncounted(company)); err != nil {
				return err
			}
			if err := tx.DispatchFacts(ctx, facts, true); err != nil {
				return err
			}
			_, err = tx.PruneFacts(ctx, company, e.clock.now(), 2)
			return err
		})
		wantProblems(t, e, company, []string{fmt.Sprintf("order %s: the outbox has no fact of it", lost)})

		// A recent fact is missed even if no fact is left.
		other := e.verified(t)
		e.credit(t, other, 5000_00, "PSK-0002")
		e.sell(t, other, forget(&recent))
		e.write(t, other, func(ctx context.Context, tx driver.Tx) error {
			return tx.PutSalesProgress(ctx, uncounted(other))
		})
		wantProblems(t, e, other, []string{fmt.Sprintf("order %s: the outbox has no fact of it", recent)})
		e.clock.at = e.clock.at.Add(time.Hour)
		wantProblems(t, e, other, nil)
	})
}

// factsInOrder compares all facts of the companies, however old, one for one with their orders and validated
// admissions. No fact of these companies may have been removed.
func factsInOrder(ctx context.Context, store driver.Store, companies []uuid.UUID) error {
	return store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		for _, company := range companies {
			const all = 1_000_000
			facts, err := tx.ListFacts(ctx, company, driver.Position{}, all)
			if err != nil {
				return err
			}
			query := driver.SoldQuery{CompanyID: company, Limit: all}
			orders, err := tx.ListSoldOrders(ctx, query)
			if err != nil {
				return err
			}
			admissions, err := tx.ListSoldAdmissions(ctx, query)
			if err != nil {
				return err
			}
			var got, want []string
			for _, fact := range facts {
				if fact.Type == ticketing.FactTicketValidated || fact.Type == driver.FactSale || fact.Type == driver.FactSaleLow {
					got = append(got, fmt.Sprint(fact.Subject, " ", fact.Type, " ", fact.At.UnixMilli()))
				}
			}
			for _, fact := range factsOf(orders) {
				want = append(want, fmt.Sprint(fact.Subject, " ", fact.Type, " ", fact.At.UnixMilli()))
			}
			for _, a := range admissions {
				if a.ValidationID != uuid.Nil {
					want = append(want, fmt.Sprint(a.ID, " ", ticketing.FactTicketValidated, " ", a.ValidatedAt.UnixMilli()))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				return fmt.Errorf("company %s has the facts\n%q\nnot\n%q", company, got, want)
			}
		}
		return nil
	})
}
