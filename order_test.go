package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestOrderOnTheWire checks Sections 2.6 and 4.7: the JSON of an order. Each admission has one line, and lines are
// sorted by tier, lexicographically.
func TestOrderOnTheWire(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1_000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, err := shop.Staff.UpdateBranding(t.Context(), shop.Company.ID, ticketing.UpdateBrandingParams{
			LogoURL: of("https://img.example.com/logo.png"), PrimaryColor: of("#aabbcc"), TicketFooter: of("<b>No refunds</b>"),
			SupportEmail: of("Help@Example.com"),
		})
		is.NoErr(err)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 5, func(p *ticketing.CreateInventoryParams) { p.Title = "Front row" })
		shop.Inventory(t, event.ID, "REGULAR", 33_33, 5)
		shop.Clock.Advance(time.Second)
		rates, err := shop.Staff.ListCommissionRates(t.Context(), shop.Company.ID)
		is.NoErr(err)
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketing.CheckoutParams{
			EventID: event.ID,
			Buyer:   ticketing.BuyerParams{Email: " Ada@Example.COM ", Fullname: " Ada Obi ", Phone: " +234 800 "},
			Lines: []ticketing.CheckoutLineParams{
				{Tier: "VIP", Quantity: 2, ExpectedUnitPrice: 150_00, Currency: "NGN"},
				{Tier: "REGULAR", Quantity: 1, ExpectedUnitPrice: 33_33, Currency: "NGN"},
			},
		})
		is.NoErr(err)
		is.Equal(len(order.Lines), 3)
		amount := func(text string) string { return `{"amount":"` + text + `","currency":"NGN"}` }
		line := func(i int, title, tier, price string) string {
			return fmt.Sprintf(`{"id":"%s","admissionId":"%s","title":"%s","tier":"%s","unitPrice":%s}`,
				order.Lines[i].ID, order.Lines[i].AdmissionID, title, tier, amount(price))
		}
		want := fmt.Sprintf(`{"id":"%s","object":"order","eventId":"%s","status":"CONFIRMED","gross":%s,"floatDebited":%s,`+
			`"commission":{"amount":%s,"rate":{"id":"%s","value":"2.5","unit":"PERCENT"}},`+
			`"balances":{"floatBefore":%s,"floatAfter":%s,"earningsBefore":%s,"earningsAfter":%s},`+
			`"buyer":{"email":"ada@example.com","fullname":"Ada Obi","phone":"+234 800"},`+
			`"branding":{"brandName":"Adire Concerts","logoUrl":"https://img.example.com/logo.png","primaryColor":"#AABBCC",`+
			`"accentColor":"#2563EB","checkoutFooter":null,"ticketFooter":"\u003cb\u003eNo refunds\u003c/b\u003e",`+
			`"emailFooter":null,"supportEmail":"help@example.com","emailMode":"SERVICE_SENDER"},"lines":[%s,%s,%s],`+
			`"confirmedAt":"2026-11-21T09:30:01.000Z","createdAt":"2026-11-21T09:30:01.000Z"}`,
			order.ID, event.ID, amount("333.33"), amount("333.33"), amount("8.33"), rates[0].ID,
			amount("1000.00"), amount("666.67"), amount("0.00"), amount("8.33"),
			line(0, "REGULAR", "REGULAR", "33.33"), line(1, "Front row", "VIP", "150.00"), line(2, "Front row", "VIP", "150.00"))
		is.Equal(show(t, order), want)
		found, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
		is.NoErr(err)
		is.Equal(show(t, found), want)

		ids := []uuid.UUID{order.ID, event.ID}
		for _, line := range order.Lines {
			ids = append(ids, line.ID, line.AdmissionID)
		}
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
		is.Equal(len(slices.Compact(ids)), 8) // all different

		// A buyer may have neither name nor phone. Both are then null, never omitted.
		order, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 150_00, 1))
		is.NoErr(err)
		is.Equal(show(t, order.Buyer), `{"email":"ada@example.com","fullname":null,"phone":null}`)
	})
}

// TestOrdersFollowTheLedgerAndNotTheClock checks that an order's place and its times follow the FLOAT ledger, even if
// the clock steps back. Times never run backwards, balances chain without a gap, and the newest-first list agrees with
// them.
func TestOrdersFollowTheLedgerAndNotTheClock(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 33_33, 100)
		var sold []ticketing.Order
		for _, step := range []time.Duration{time.Minute, -time.Hour, 0, 2 * time.Minute, 2 * time.Hour, -time.Millisecond} {
			shop.Clock.Advance(step)
			sold = append(sold, shop.Sell(t, event.ID, "VIP", 1))
		}
		page, err := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{})
		is.NoErr(err)
		slices.Reverse(page.Items)
		is.Equal(page.Items, sold)
		for i := 1; i < len(sold); i++ {
			is.True(!sold[i].ConfirmedAt.Before(sold[i-1].ConfirmedAt.Time))
			is.Equal(sold[i].CreatedAt, sold[i].ConfirmedAt)
			is.Equal(sold[i].Balances.FloatBefore, sold[i-1].Balances.FloatAfter)
			is.Equal(sold[i].Balances.EarningsBefore, sold[i-1].Balances.EarningsAfter)
		}
	})
}

// TestTheTermsOfASaleAreThoseOfItsTime checks that the rate of a sale is that at the sale's time, even if the clock was
// set back. Whatever has expired by the sale's time has expired for the sale (Section 2.9, item 1).
func TestTheTermsOfASaleAreThoseOfItsTime(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 10)
		rate, err := money.ParseRate("10", money.Percent)
		is.NoErr(err)
		later, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
			Rate: rate, EffectiveFrom: new(shop.Clock.Now().Add(time.Hour)),
		})
		is.NoErr(err)
		_, err = shop.Staff.ApproveVerification(t.Context(), shop.Company.ID, ticketing.ApprovalParams{
			ExpiresAt: new(shop.Clock.Now().Add(3 * time.Hour)),
		})
		is.NoErr(err)
		shop.Clock.Advance(2 * time.Hour)
		first := shop.Sell(t, event.ID, "VIP", 1)
		shop.Clock.Advance(-90 * time.Minute) // The clock is before the later rate.
		second := shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(first.Commission.Rate.ID, later.ID)
		is.Equal(second.Commission, first.Commission)
		is.Equal(second.ConfirmedAt, first.ConfirmedAt)
		scan, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, second.Lines[0].AdmissionID, shop.Key(),
			ticketing.ValidateParams{})
		is.NoErr(err)
		is.Equal(scan.ValidatedAt, second.ConfirmedAt) // A validation is never before the sale.
		shop.Clock.Advance(89 * time.Minute)
		_, err = shop.Staff.ApproveVerification(t.Context(), shop.Company.ID, ticketing.ApprovalParams{
			ExpiresAt: new(shop.Clock.Now().Add(30 * time.Second)),
		})
		is.NoErr(err)
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
		is.Equal(code(err), ticketing.CodeVerificationRequired) // The approval ends before the time of the sale.
	})
}

// TestOrdersAreSnapshots checks that buyer and branding of an order are snapshots: neither a later checkout of the same
// buyer nor a later change alters them.
func TestOrdersAreSnapshots(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 10)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		basket.Buyer.Fullname, basket.Buyer.Phone = "Ada Obi", "+1"
		first, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		_, err = shop.Staff.UpdateBranding(t.Context(), shop.Company.ID,
			ticketing.UpdateBrandingParams{BrandName: of("New name")})
		is.NoErr(err)
		basket.Buyer.Fullname, basket.Buyer.Phone = "Ada Eze", ""
		second, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		is.Equal([]string{first.Branding.BrandName, second.Branding.BrandName}, []string{"Adire Concerts", "New name"})
		for _, order := range []ticketing.Order{first, second} {
			found, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
			is.NoErr(err)
			is.Equal(found, order)
			is.Equal(shop.Scan(t, event.ID, order.Lines[0].AdmissionID).Ticket.Branding, order.Branding)
		}
		// The buyer's record belongs to the company, and is that of the latest checkout.
		is.NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			buyers, err := tx.Buyers(ctx, []driver.BuyerRef{
				{CompanyID: shop.Company.ID, Email: "ada@example.com"}, {CompanyID: uuid.New(), Email: "ada@example.com"},
			})
			is.Equal(buyers, []driver.Buyer{{
				CompanyID: shop.Company.ID, Email: "ada@example.com", Fullname: "Ada Eze",
				CreatedAt: ticketingtest.Opening, UpdatedAt: ticketingtest.Opening,
			}, {}})
			return err
		}))
	})
}
