package ticketing_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// smallSteps is a store with which a dispatch takes two facts, and a count two orders.
type smallSteps struct{ driver.Store }

func (s smallSteps) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, smallStepsTx{tx}) })
}

type smallStepsTx struct{ driver.Tx }

func (s smallStepsTx) TakeFacts(ctx context.Context, companyID uuid.UUID, limit int) ([]driver.Fact, error) {
	return s.Tx.TakeFacts(ctx, companyID, min(limit, 2))
}

func (s smallStepsTx) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	if query.BuyerEmail == "" {
		query.Limit = min(query.Limit, 2)
	}
	return s.Tx.ListOrders(ctx, query)
}

// salesOracle is what the sums of a company have to be, computed from its records.
type salesOracle struct {
	sums, kept map[driver.SalesSumRef]driver.SalesSum
	orders     []driver.Order // highest number first
	uncounted  int64
	waiting    int // facts that are not dispatched
}

// readSales reads the sums of a company, and computes them from its orders.
func readSales(t testing.TB, store driver.Store, companyID uuid.UUID) salesOracle {
	t.Helper()
	o := salesOracle{}
	err := store.Snapshot(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		o = salesOracle{sums: map[driver.SalesSumRef]driver.SalesSum{}, kept: map[driver.SalesSumRef]driver.SalesSum{}}
		const all = 100_000
		kept, err := tx.ListSalesSums(ctx, driver.SalesSumRef{CompanyID: companyID}, all)
		if err != nil {
			return err
		}
		for _, sum := range kept {
			o.kept[sum.SalesSumRef] = sum
		}
		progress, err := tx.SalesProgress(ctx, []uuid.UUID{companyID})
		if err != nil {
			return err
		}
		o.uncounted = progress[0].Uncounted
		facts, err := tx.UndispatchedFacts(ctx, companyID, driver.Position{}, all)
		if err != nil {
			return err
		}
		o.waiting = len(facts)
		waits := make(map[uuid.UUID]bool)
		for _, fact := range facts {
			waits[fact.Subject] = true // an order, or an admission
		}
		if o.orders, err = tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyID, Limit: all}); err != nil {
			return err
		}
		for _, order := range o.orders {
			if order.Number <= o.uncounted {
				continue
			}
			number := []driver.OrderNumber{order.NumberRef()}
			lines, err := tx.OrderLines(ctx, number)
			if err != nil {
				return err
			}
			endings, err := tx.OrderEndings(ctx, number)
			if err != nil {
				return err
			}
			o.count(order, lines, endings[0], waits)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// count adds what happened with an order, except what waits for its dispatch.
func (o *salesOracle) count(
	order driver.Order, lines []driver.Admission, ending driver.OrderEnding, waits map[uuid.UUID]bool,
) {
	at := func(event uuid.UUID, tier string, when time.Time, change func(*driver.SalesSum)) {
		quarter := time.Date(when.Year(), when.Month(), when.Day(), when.Hour(), when.Minute()/15*15, 0, 0, time.UTC)
		ref := driver.SalesSumRef{CompanyID: order.CompanyID, EventID: event, Tier: tier, At: quarter}
		sum := o.sums[ref]
		sum.SalesSumRef = ref
		change(&sum)
		o.sums[ref] = sum
	}
	tiers := make(map[string]money.Amount)
	counts := make(map[string]int64)
	for _, line := range lines {
		tiers[line.Tier] += line.UnitPrice
		counts[line.Tier]++
	}
	for _, event := range []uuid.UUID{{}, order.EventID} {
		if !waits[order.ID] {
			at(event, "", order.ConfirmedAt, func(s *driver.SalesSum) {
				s.Orders++
				s.Admissions += int64(len(lines))
				s.Gross += order.Gross
				s.Commission += order.Commission
			})
		}
		if ending.Status == driver.OrderRefunded {
			at(event, "", ending.At, func(s *driver.SalesSum) {
				s.Refunded += order.Gross
				s.Reversed += order.Commission
			})
		}
	}
	for tier, gross := range tiers {
		if !waits[order.ID] {
			at(order.EventID, tier, order.ConfirmedAt, func(s *driver.SalesSum) {
				s.Orders++
				s.Admissions += counts[tier]
				s.Gross += gross
			})
		}
		if ending.Status == driver.OrderRefunded {
			at(order.EventID, tier, ending.At, func(s *driver.SalesSum) { s.Refunded += gross })
		}
	}
	for _, line := range lines {
		if line.ValidationID == uuid.Nil || waits[line.ID] {
			continue
		}
		for _, sum := range []struct {
			event uuid.UUID
			tier  string
		}{{}, {event: order.EventID}, {order.EventID, line.Tier}} {
			at(sum.event, sum.tier, line.ValidatedAt, func(s *driver.SalesSum) { s.Admitted++ })
		}
	}
}

// holds checks that the sums are those of the orders.
func (o *salesOracle) holds(t testing.TB) {
	t.Helper()
	for ref, sum := range o.sums {
		if sum == (driver.SalesSum{SalesSumRef: ref}) {
			delete(o.sums, ref) // such as the refund of a free order
		}
	}
	is.New(t).Equal(o.kept, o.sums)
}

// box is the state of a random test of sums.
type box struct {
	t       drawnTB
	shop    *ticketingtest.Shop
	mails   *ticketing.Service
	store   driver.Store
	events  []uuid.UUID
	orders  []ticketing.Order
	baskets map[string]ticketing.CheckoutParams // by idempotency key
}

// TestSumsOfSalesEqualTheOrders checks that after every operation, in any order, the sums of sales are what the orders
// add up to, and that the index of buyers finds every order of a buyer.
func TestSumsOfSalesEqualTheOrders(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, someRuns(store, func(r *rapid.T) {
				drawn := drawnTB{TB: t, r: r}
				b := newBox(drawn, smallSteps{store.Open(t)})
				r.Repeat(map[string]func(*rapid.T){
					"":         func(*rapid.T) { b.check() },
					"sell":     b.sell,
					"replay":   b.replay,
					"scan":     b.scan,
					"end":      b.end,
					"erase":    b.erase,
					"dispatch": func(*rapid.T) { b.dispatch() },
					"count":    func(*rapid.T) { b.count() },
					"reset":    b.reset,
					"wait":     b.wait,
				})
				b.finish()
			}))
		})
	}
}

func newBox(t drawnTB, store driver.Store) *box {
	b := &box{t: t, store: store, baskets: map[string]ticketing.CheckoutParams{}}
	b.shop = ticketingtest.New(t, &ticketingtest.Config{Store: store, Float: 1_000_000_00})
	setSender(t, b.shop)
	b.mails = mailing(t, b.shop, newMailServer())
	for range 2 {
		event := b.shop.Event(t)
		b.shop.Inventory(t, event.ID, "REGULAR", 0, 1000)
		b.shop.Inventory(t, event.ID, "VIP", 10_01, 1000)
		b.events = append(b.events, event.ID)
	}
	return b
}

func (b *box) wait(r *rapid.T) {
	b.shop.Clock.Advance(time.Duration(rapid.IntRange(1, 900).Draw(r, "seconds")) * time.Second)
}

func (b *box) ctx() context.Context { return context.WithoutCancel(b.t.Context()) }

func (b *box) noErr(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) sell(r *rapid.T) {
	basket := ticketingtest.Basket(rapid.SampledFrom(b.events).Draw(r, "event"), "VIP", 10_01, 1)
	basket.Lines = nil
	free, vip := rapid.IntRange(0, 2).Draw(r, "free"), rapid.IntRange(0, 3).Draw(r, "vip")
	if free > 0 {
		basket.Lines = append(basket.Lines, ticketing.CheckoutLine{Tier: "REGULAR", Quantity: free, Currency: money.Currency})
	}
	if vip > 0 || free == 0 {
		basket.Lines = append(basket.Lines, ticketing.CheckoutLine{
			Tier: "VIP", Quantity: max(vip, 1), ExpectedUnitPrice: 10_01, Currency: money.Currency,
		})
	}
	basket.Buyer = ticketing.BuyerParams{Email: rapid.SampledFrom(boxEmails).Draw(r, "buyer")}
	key := b.shop.Key()
	order, err := b.shop.Checkout(b.ctx(), b.shop.Caller, key, basket)
	b.noErr(err)
	b.orders, b.baskets[key] = append(b.orders, order), basket
}

var boxEmails = []string{"ada@example.com", "bob@example.com", "eve@example.com"}

func (b *box) replay(r *rapid.T) {
	if len(b.baskets) > 0 {
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(b.baskets))).Draw(r, "key")
		_, err := b.shop.Checkout(b.ctx(), b.shop.Caller, key, b.baskets[key])
		b.noErr(err)
	}
}

// scan validates an admission, perhaps again.
func (b *box) scan(r *rapid.T) {
	if len(b.orders) == 0 {
		return
	}
	order := rapid.SampledFrom(b.orders).Draw(r, "order")
	line := rapid.SampledFrom(order.Lines).Draw(r, "line")
	_, err := b.shop.ValidateAdmission(b.ctx(), b.shop.Caller, order.EventID, line.AdmissionID, b.shop.Key(),
		ticketing.ValidateParams{})
	if err != nil && code(err) != ticketing.CodeConflict { // It was refunded or cancelled.
		b.noErr(err)
	}
}

// end refunds or cancels an order, perhaps again.
func (b *box) end(r *rapid.T) {
	if len(b.orders) == 0 {
		return
	}
	id := rapid.SampledFrom(b.orders).Draw(r, "order").ID
	var err error
	if rapid.Bool().Draw(r, "refund") {
		_, err = b.shop.Staff.RefundOrder(b.ctx(), id,
			ticketing.RefundParams{Reason: "ill", Restock: rapid.Bool().Draw(r, "restock")})
	} else {
		_, err = b.shop.Staff.CancelOrder(b.ctx(), id, "ill")
	}
	if err != nil && code(err) != ticketing.CodeConflict {
		b.noErr(err)
	}
}

func (b *box) erase(r *rapid.T) {
	_, err := b.shop.Staff.EraseBuyer(b.ctx(), b.shop.Company.ID, rapid.SampledFrom(boxEmails).Draw(r, "buyer"))
	b.noErr(err)
}

// dispatch dispatches two facts and sends the mails that are due.
func (b *box) dispatch() {
	_, err := b.mails.SendMails(b.ctx())
	b.noErr(err)
}

func (b *box) count() int {
	orders, err := b.mails.CountSales(b.ctx())
	b.noErr(err)
	return orders
}

// reset makes the sums as they are after a migration or a rebuild that was interrupted.
func (b *box) reset(r *rapid.T) {
	if rapid.Bool().Draw(r, "whole") {
		_, err := b.shop.Staff.RebuildSales(b.ctx(), b.shop.Company.ID)
		b.noErr(err)
		return
	}
	b.noErr(b.store.Update(b.ctx(), func(ctx context.Context, tx driver.Tx) error {
		id := b.shop.Company.ID
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{id}}); err != nil {
			return err
		}
		wallets, err := tx.Wallets(ctx, driver.WalletRefs(id)[:1])
		if err != nil {
			return err
		}
		if err := tx.DeleteSalesSums(ctx, id); err != nil {
			return err
		}
		return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: id, Uncounted: wallets[0].Sequence})
	}))
}

func (b *box) check() {
	o := readSales(b.t, b.store, b.shop.Company.ID)
	o.holds(b.t)
	for _, email := range boxEmails {
		want := []uuid.UUID{}
		for _, order := range o.orders {
			if order.BuyerEmail == email {
				want = append(want, order.ID)
			}
		}
		page, err := b.shop.Staff.ListOrders(b.ctx(), b.shop.Company.ID, ticketing.OrderSearch{
			OrderFilter: ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: ticketing.MaxPageLimit}}, Email: email,
		})
		b.noErr(err)
		got := []uuid.UUID{}
		for _, order := range page.Items {
			got = append(got, order.ID)
		}
		if len(want) <= ticketing.MaxPageLimit && !slices.Equal(got, want) {
			b.t.Fatalf("%s has the orders %v, and %v were found", email, want, got)
		}
	}
}

// finish dispatches and counts all that is left.
func (b *box) finish() {
	for left := -1; left != 0; left = readSales(b.t, b.store, b.shop.Company.ID).waiting {
		b.dispatch()
	}
	for counted := 1; counted > 0; {
		counted = b.count()
	}
	o := readSales(b.t, b.store, b.shop.Company.ID)
	is.New(b.t).Equal(o.uncounted, int64(0))
	o.holds(b.t)
}

// TestSumsOfSalesAmongEverything checks that dispatches, counts, refunds, scans and sales at once, by two processes,
// leave sums that equal the orders. It begins as an upgrade does: with orders that are in no sum.
func TestSumsOfSalesAmongEverything(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1_000_000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx := t.Context()
		setSender(t, shop)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 1000)
		const earlier, later = 12, 12
		var orders []ticketing.Order
		for range earlier {
			orders = append(orders, shop.Sell(t, event.ID, "VIP", 2))
		}
		is.NoErr(shop.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{shop.Company.ID}}); err != nil {
				return err
			}
			wallets, err := tx.Wallets(ctx, driver.WalletRefs(shop.Company.ID)[:1])
			if err != nil {
				return err
			}
			return tx.PutSalesProgress(ctx, driver.SalesProgress{
				CompanyID: shop.Company.ID, Uncounted: wallets[0].Sequence,
			})
		}))
		var works sync.WaitGroup
		fail := func(what string, err error) {
			if err != nil {
				t.Error(fmt.Errorf("%s: %w", what, err))
			}
		}
		for range 2 {
			svc := mailing(t, shop, newMailServer())
			works.Go(func() {
				for range 2 * earlier {
					_, err := svc.SendMails(ctx)
					fail("dispatch", err)
				}
			})
			works.Go(func() {
				for range earlier {
					_, err := svc.CountSales(ctx)
					fail("count", err)
				}
			})
		}
		works.Go(func() {
			for _, order := range orders {
				_, err := shop.Staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "ill", Restock: true})
				fail("refund", err)
			}
		})
		works.Go(func() {
			for range later {
				order := shop.Sell(t, event.ID, "VIP", 1)
				shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
			}
		})
		works.Wait()
		o := readSales(t, shop.Store, shop.Company.ID)
		o.holds(t)
		svc := mailing(t, shop, newMailServer())
		_, err := svc.SendMails(ctx)
		is.NoErr(err)
		for more := 1; more > 0; {
			more, err = svc.CountSales(ctx)
			is.NoErr(err)
		}
		o = readSales(t, shop.Store, shop.Company.ID)
		o.holds(t)
		is.Equal(o.waiting, 0)
		is.Equal(o.uncounted, int64(0))
	})
}
