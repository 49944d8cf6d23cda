package ticketing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestFactsOnTheWire checks Section 6.6: the data of each fact has exactly the members of its file in testdata/facts.
// The files have names in place of ids.
func TestFactsOnTheWire(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_05, 2, func(p *ticketing.CreateInventoryParams) { p.Title = "Front row <1>" })
		shop.Inventory(t, event.ID, "REGULAR", 0, 1)
		shop.Clock.Advance(time.Second + 5*time.Millisecond)
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketing.CheckoutParams{
			EventID: event.ID, Buyer: ticketing.BuyerParams{Email: "ada@example.com", Fullname: "Ada Obi"},
			Lines: []ticketing.CheckoutLineParams{
				{Tier: "VIP", Quantity: 1, ExpectedUnitPrice: 150_05, Currency: "NGN"},
				{Tier: "REGULAR", Quantity: 1, ExpectedUnitPrice: 0, Currency: "NGN"},
			},
		})
		is.NoErr(err)
		shop.Clock.Advance(time.Minute)
		scan := shop.Scan(t, event.ID, order.Lines[1].AdmissionID)
		shop.Scan(t, event.ID, order.Lines[1].AdmissionID) // A second scan makes no fact.

		shop.Work(t)
		facts, err := shop.Facts.Wait(t.Context(), 5)
		is.NoErr(err)
		is.Equal(len(facts), 5)
		names := strings.NewReplacer(
			order.ID.String(), "ORDER", event.ID.String(), "EVENT", order.Commission.Rate.ID.String(), "RATE",
			order.Lines[0].ID.String(), "LINE 1", order.Lines[0].AdmissionID.String(), "ADMISSION 1",
			order.Lines[1].ID.String(), "LINE 2", order.Lines[1].AdmissionID.String(), "ADMISSION 2",
		)
		seen := make(map[uuid.UUID]bool)
		for _, kind := range []ticketing.FactType{
			ticketing.FactOrderCreated, ticketing.FactCommissionAccrued, ticketing.FactBalanceLow,
			ticketing.FactTicketValidated, ticketing.FactTicketEmail,
		} {
			of := shop.Facts.Of(kind)
			is.Equal(len(of), 1)
			fact := of[0]
			is.Equal(fact.CompanyID, shop.Company.ID)
			_, err := ticketing.ParseID(fact.ID.String())
			is.NoErr(err)
			is.True(!seen[fact.ID])
			seen[fact.ID] = true
			want := order.ConfirmedAt
			if kind == ticketing.FactTicketValidated {
				want = scan.ValidatedAt
			}
			is.Equal(fact.CreatedAt, want)
			golden(t, string(kind), names.Replace(show(t, fact.Data)))
		}
		is.Equal(shop.Facts.Of(ticketing.FactTicketEmail)[0].Data, ticketing.TicketEmail{Order: order})
	})
}

// golden compares JSON with a file of testdata/facts, including the order and spelling of members. Only the white space
// of the file does not count.
func golden(t *testing.T, name, got string) {
	t.Helper()
	is := is.New(t)
	text, err := os.ReadFile(filepath.Join("testdata", "facts", name+".json"))
	is.NoErr(err)
	var want bytes.Buffer
	is.NoErr(json.Compact(&want, text))
	is.Equal(got, want.String())
}

// kinds returns the types of the facts that the store has for a subject, sorted.
func kinds(t testing.TB, shop *ticketingtest.Shop, subject uuid.UUID) (found []ticketing.FactType) {
	t.Helper()
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		facts, err := tx.ListFacts(ctx, shop.Company.ID, driver.Position{}, 1000)
		for _, fact := range facts {
			if fact.Subject == subject {
				for _, told := range fact.Facts() {
					found = append(found, told.Type)
				}
			}
		}
		return err
	}))
	slices.Sort(found)
	return found
}

// TestBalanceLowIsPublishedOncePerCrossing checks Section 6.1: there is one balance.low each time that a checkout takes
// FLOAT from at least 1000.00 to below it.
func TestBalanceLowIsPublishedOncePerCrossing(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1000_02}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1, 1000)
		shop.Inventory(t, event.ID, "REGULAR", 500_00, 10)
		shop.Inventory(t, event.ID, "STUDENT", 0, 10)
		for _, step := range []struct {
			credit money.Amount
			tier   string
			after  money.Amount
			low    bool
		}{
			{0, "VIP", 1000_01, false},
			{0, "VIP", 1000_00, false}, // FLOAT at the threshold is not low.
			{0, "STUDENT", 1000_00, false},
			{0, "VIP", 999_99, true},
			{0, "VIP", 999_98, false}, // FLOAT was low already.
			{0, "STUDENT", 999_98, false},
			{0, "REGULAR", 499_98, false},
			{500_01, "VIP", 999_98, false}, // It was credited to 999.99, which is still below.
			{2, "VIP", 999_99, true},       // It was credited to 1000.00, and crosses the threshold again.
			{9000_01, "REGULAR", 9500_00, false},
		} {
			if step.credit > 0 {
				shop.Credit(t, step.credit)
			}
			order := shop.Sell(t, event.ID, step.tier, 1)
			is.Equal(order.Balances.FloatAfter, step.after)
			want := []ticketing.FactType{ticketing.FactCommissionAccrued, ticketing.FactTicketEmail, ticketing.FactOrderCreated}
			if step.low {
				want = append(want, ticketing.FactBalanceLow)
			}
			slices.Sort(want)
			is.Equal(kinds(t, shop, order.ID), want)
			is.Equal(shop.Wallets(t).LowBalance, step.after < 1000_00)
		}
	})
}

// TestRefusalsAndReplaysPublishNothing checks Section 6.1: refusals and replays make no fact.
func TestRefusalsAndReplaysPublishNothing(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		key := shop.Key()
		basket := ticketingtest.Basket(event.ID, "VIP", 150_00, 1)
		_, err := shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.NoErr(err)
		shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		before := holdings(t, shop).Facts
		_, err = shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.NoErr(err)
		basket.Lines[0].Quantity = 2
		_, err = shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.Equal(code(err), ticketing.CodeConflict)
		basket.Lines[0].ExpectedUnitPrice = 1
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.Equal(code(err), ticketing.CodeInventoryUnavailable)
		shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		is.Equal(holdings(t, shop).Facts, before)
	})
}

// TestFactsShowTheMomentOfTheSale checks that a fact has the snapshots of the sale, however late it is published and
// whatever has changed since.
func TestFactsShowTheMomentOfTheSale(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		_, err := shop.Staff.UpdateBranding(t.Context(), shop.Company.ID,
			ticketing.UpdateBrandingParams{BrandName: of("New")})
		is.NoErr(err)
		_, err = shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
			Rate: rateOf(t, "1", money.Fraction),
		})
		is.NoErr(err)
		_, err = shop.Staff.SuspendWallet(t.Context(), shop.Company.ID, ledger.Float)
		is.NoErr(err)
		_, err = shop.CancelEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		_, err = shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		shop.Work(t)
		_, err = shop.Facts.Wait(t.Context(), 3)
		is.NoErr(err)
		is.Equal(shop.Facts.Of(ticketing.FactTicketEmail)[0].Data, ticketing.TicketEmail{Order: order})
		created := show(t, shop.Facts.Of(ticketing.FactOrderCreated)[0].Data)
		is.True(strings.Contains(created, `"status":"CONFIRMED"`))
		is.True(strings.Contains(created, `"value":"2.5","unit":"PERCENT"`))
	})
}

// TestIDsOfASaleFactsAreKept checks that the ids of a sale's facts never change: receivers recognize a repeated fact by
// its id.
func TestIDsOfASaleFactsAreKept(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sale := driver.Fact{ID: uuid.MustParse("0b8f3a52-6b1c-4d0e-9a77-3c5d2e1f4a60"), Type: driver.FactSaleLow}
	var ids []string
	for _, fact := range sale.Facts() {
		ids = append(ids, string(fact.Type)+" "+fact.ID.String())
		is.Equal(fact.ID.Version(), uuid.Version(4))
		is.Equal(fact.ID.Variant(), uuid.RFC4122)
	}
	is.Equal(ids, []string{
		"order.created d9b59773-3a50-4887-b2b9-e72878f4c728",
		"commission.accrued fe849fc3-c22e-4fc5-b33d-6f555545e293",
		"notification.ticket_email b9b93416-3b68-462c-bfc2-0e669aaa26dd",
		"balance.low dba8a3bf-296b-465d-b142-ef464b2940f0",
	})
	sale.Type = driver.FactSale
	is.Equal(len(sale.Facts()), 3)
	scan := driver.Fact{ID: sale.ID, Type: ticketing.FactTicketValidated}
	is.Equal(scan.Facts(), []driver.Fact{scan})
}
