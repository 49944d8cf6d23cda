package ticketingtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

func TestShopIsReadyToSell(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	tier := shop.Inventory(t, event.ID, "VIP", 150_00, 3)
	is.Equal(tier.AvailableQuantity, int64(3))
	order := shop.Sell(t, event.ID, "VIP", 2)
	is.Equal(order.Gross, money.Amount(300_00))
	is.Equal(order.Balances.FloatBefore, ticketingtest.DefaultFloat)
	is.Equal(order.Commission.Amount, money.Amount(7_50))
	is.Equal(shop.Wallets(t).Earnings, money.Amount(7_50))
	is.Equal(shop.Scan(t, event.ID, order.Lines[1].AdmissionID).Outcome, ticketing.OutcomeAdmitted)

	caller, err := shop.Authenticate(t.Context(), shop.APIKey)
	is.NoErr(err)
	is.Equal(caller, shop.Caller)
	for _, grant := range ticketing.AllGrants() {
		is.NoErr(caller.Require(grant))
	}
	is.NoErr(shop.With(ticketing.GrantOrderRead).Require(ticketing.GrantOrderRead))
	is.True(shop.With(ticketing.GrantOrderRead).Require(ticketing.GrantCheckoutCreate) != nil)
}

func TestConfigDecidesMoneyAndCommission(t *testing.T) {
	t.Parallel()
	nothing, err := money.ParseRate("0", money.Percent)
	is.New(t).NoErr(err)
	tests := []struct {
		name       string
		config     *ticketingtest.Config
		float      money.Amount
		commission money.Amount
		refused    error
	}{
		{name: "defaults", float: ticketingtest.DefaultFloat, commission: 25},
		{name: "float", config: &ticketingtest.Config{Float: 10_00}, float: 10_00, commission: 25},
		{
			name: "no float", config: &ticketingtest.Config{Float: ticketingtest.NoFloat},
			refused: ticketing.CodeInsufficientFloat,
		},
		{name: "rate of nothing", config: &ticketingtest.Config{Rate: nothing}, float: ticketingtest.DefaultFloat},
		{
			name: "no rate", config: &ticketingtest.Config{NoRate: true}, float: ticketingtest.DefaultFloat,
			refused: ticketing.CodeCommissionUnavailable,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			shop := ticketingtest.New(t, test.config)
			is.Equal(shop.Wallets(t).Float, test.float)
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "VIP", 10_00, 1)
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 10_00, 1))
			is.True(errors.Is(err, test.refused))
			is.Equal(order.Commission.Amount, test.commission)
		})
	}
}

func TestTwoRunsSeeTheSameIDs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	one, two := ticketingtest.New(t, nil), ticketingtest.New(t, nil)
	is.Equal(one.Company, two.Company)
	is.Equal(one.Event(t), two.Event(t))
}

func TestNeighbourIsAnotherCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	neighbour := shop.Neighbour(t)
	event := neighbour.Event(t)
	is.True(neighbour.Company.ID != shop.Company.ID)
	_, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
	is.True(errors.Is(err, ticketing.CodeNotFound))
}

func TestReopenedShopKnowsWhatWasKept(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	again := shop.Reopen(t)
	is.True(again.Service != shop.Service)
	found, err := again.GetEvent(t.Context(), again.Caller, event.ID)
	is.NoErr(err)
	is.Equal(found, event)
	_, err = again.Authenticate(t.Context(), shop.APIKey) // The secret keys are the same.
	is.NoErr(err)
}

func TestWorkPublishesFacts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	refused := errors.New("not now")
	shop := ticketingtest.New(t, &ticketingtest.Config{OnFact: func(_ context.Context, fact ticketing.Fact) error {
		if fact.Type == ticketing.FactTicketEmail {
			return refused
		}
		return nil
	}})
	shop.Work(t)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 150_00, 1)
	shop.Sell(t, event.ID, "VIP", 1)
	told, err := shop.Facts.Wait(t.Context(), 2) // Without the mail, which OnFact refused.
	is.NoErr(err)
	is.Equal(told, shop.Facts.All())
	is.Equal(len(shop.Facts.Of(ticketing.FactOrderCreated)), 1)
	is.Equal(len(shop.Facts.Of(ticketing.FactCommissionAccrued)), 1)
	is.Equal(len(shop.Facts.Of(ticketing.FactTicketEmail)), 0)
}

// Every test verifies the books. A test that breaks them without BooksAreBroken fails, and so does one that calls
// BooksAreBroken and does not break them.
func TestBooksAreVerifiedWhenATestEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		tamper   bool
		announce bool
		errors   int
	}{
		{name: "right"},
		{name: "wrong", tamper: true, errors: 1},
		{name: "wrong as announced", tamper: true, announce: true},
		{name: "right although announced", announce: true, errors: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			watched := new(recorder)
			store := memory.New()
			shop := ticketingtest.New(watched, &ticketingtest.Config{Store: store})
			event := shop.Event(watched)
			shop.Inventory(watched, event.ID, "VIP", 150_00, 3)
			if test.tamper {
				is.NoErr(store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
						return err
					}
					tier, err := tx.LockTier(ctx, driver.EventRef{CompanyID: shop.Company.ID, ID: event.ID}, "VIP")
					if err != nil {
						return err
					}
					tier.Total++
					return tx.UpdateTiers(ctx, []driver.Tier{tier})
				}))
			}
			if test.announce {
				shop.BooksAreBroken()
			}
			watched.end()
			is.Equal(len(watched.errors), test.errors)
			if test.tamper && !test.announce {
				is.True(strings.Contains(watched.errors[0], `tier "VIP": 4 admissions were created, its batches hold 3`))
			}
		})
	}
}

func TestWhatCannotBeMadeFailsTheTest(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	watched := new(recorder)
	shop := ticketingtest.New(watched, nil)
	defer watched.end()
	defer func() {
		is.Equal(recover(), watched)
		is.Equal(watched.errors, []string{"ticketingtest: quote: NOT_FOUND: The event was not found."})
	}()
	shop.Sell(watched, uuid.New(), "VIP", 1)
}
