package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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

// smallSteps is a store with which a dispatch takes two facts, and a count two orders or removes two sums.
type smallSteps struct {
	driver.Store

	// removals is how many more times sums are removed before it fails as a database that is gone; nil: it never fails.
	removals *atomic.Int64
}

var errRemovalEnded = errors.New("the removal of sums was interrupted")

func (s smallSteps) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		return fn(ctx, smallStepsTx{tx, s.removals})
	})
}

type smallStepsTx struct {
	driver.Tx

	removals *atomic.Int64
}

func (s smallStepsTx) TakeFacts(ctx context.Context, companyID uuid.UUID, limit int) ([]driver.Fact, error) {
	return s.Tx.TakeFacts(ctx, companyID, min(limit, 2))
}

func (s smallStepsTx) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	if query.BuyerEmail == "" {
		query.Limit = min(query.Limit, 2)
	}
	return s.Tx.ListOrders(ctx, query)
}

func (s smallStepsTx) DeleteSalesSums(ctx context.Context, companyID uuid.UUID, limit int) (int, error) {
	if s.removals != nil && s.removals.Add(-1) < 0 {
		return 0, errRemovalEnded
	}
	return s.Tx.DeleteSalesSums(ctx, companyID, min(limit, 2))
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
		times := []time.Time{quarter}
		if event != uuid.Nil && tier == "" {
			times = append(times, time.Time{}) // all time
		}
		for _, at := range times {
			ref := driver.SalesSumRef{CompanyID: order.CompanyID, EventID: event, Tier: tier, At: at}
			sum := o.sums[ref]
			sum.SalesSumRef = ref
			change(&sum)
			o.sums[ref] = sum
		}
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
	if !o.right() {
		is.New(t).Equal(o.kept, o.sums)
	}
}

// right reports whether the sums are those of the orders. Those of a company that is reset are of no orders.
func (o *salesOracle) right() bool {
	for ref, sum := range o.sums {
		if sum == (driver.SalesSum{SalesSumRef: ref}) {
			delete(o.sums, ref) // such as the refund of a free order
		}
	}
	return o.uncounted == driver.SalesReset || maps.Equal(o.kept, o.sums)
}

// box is the state of a random test of sums.
type box struct {
	t       drawnTB
	shop    *ticketingtest.Shop
	mails   *ticketing.Service
	store   smallSteps
	kept    map[driver.SalesSumRef]driver.SalesSum // when it was checked last
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
				b := newBox(drawn, smallSteps{store.Open(t), new(atomic.Int64)})
				r.Repeat(map[string]func(*rapid.T){
					"":         func(*rapid.T) { b.check() },
					"sell":     b.sell,
					"replay":   b.replay,
					"scan":     b.scan,
					"end":      b.end,
					"erase":    b.erase,
					"dispatch": func(*rapid.T) { b.dispatch() },
					"count":    func(*rapid.T) { b.count(1000) },
					"remove":   func(r *rapid.T) { b.count(rapid.IntRange(0, 3).Draw(r, "removals")) },
					"reset":    b.reset,
					"wait":     b.wait,
				})
				b.finish()
			}))
		})
	}
}

func newBox(t drawnTB, store smallSteps) *box {
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
		basket.Lines = append(basket.Lines, ticketing.CheckoutLineParams{
			Tier: "REGULAR", Quantity: free, Currency: money.Currency,
		})
	}
	if vip > 0 || free == 0 {
		basket.Lines = append(basket.Lines, ticketing.CheckoutLineParams{
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

// count counts some orders. It is interrupted after so many removals of sums.
func (b *box) count(removals int) int {
	b.store.removals.Store(int64(removals))
	orders, err := b.mails.CountSales(b.ctx())
	if !errors.Is(err, errRemovalEnded) {
		b.noErr(err)
	}
	return orders
}

// reset rebuilds the sums, perhaps not to the end, or makes them as they are after a migration.
func (b *box) reset(r *rapid.T) {
	if rapid.Bool().Draw(r, "rebuild") {
		b.store.removals.Store(rapid.SampledFrom([]int64{0, 1, 1000}).Draw(r, "removals"))
		_, err := b.shop.Staff.RebuildSales(b.ctx(), b.shop.Company.ID)
		if !errors.Is(err, errRemovalEnded) {
			b.noErr(err)
		}
		return
	}
	b.store.removals.Store(1000)
	b.noErr(b.store.Update(b.ctx(), func(ctx context.Context, tx driver.Tx) error {
		id := b.shop.Company.ID
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{id}}); err != nil {
			return err
		}
		wallets, err := tx.Wallets(ctx, driver.WalletRefs(id)[:1])
		if err != nil {
			return err
		}
		if err := removeAll(ctx, tx, id); err != nil {
			return err
		}
		return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: id, Uncounted: wallets[0].Sequence})
	}))
}

// checkEvents checks that what the events of the orders have sold in all time is what is counted.
func (b *box) checkEvents(o *salesOracle) {
	var events []uuid.UUID
	for ref := range o.sums {
		if ref.EventID != uuid.Nil && ref.At.IsZero() {
			events = append(events, ref.EventID)
		}
	}
	shown, err := b.shop.Staff.EventSales(b.ctx(), b.shop.Company.ID, events, ticketing.Period{})
	b.noErr(err)
	for i, event := range events {
		want := o.sums[driver.SalesSumRef{CompanyID: b.shop.Company.ID, EventID: event}]
		if o.uncounted == driver.SalesReset {
			want = driver.SalesSum{}
		}
		if got := shown.Items[i]; got.Orders != want.Orders || got.Gross != want.Gross || got.Refunded != want.Refunded {
			b.t.Fatalf("event %s has sold %v, %v are counted", event, got, want)
		}
	}
}

// removeAll removes all sums of a company.
func removeAll(ctx context.Context, tx driver.Tx, companyID uuid.UUID) error {
	for {
		if removed, err := tx.DeleteSalesSums(ctx, companyID, 1000); err != nil || removed == 0 {
			return err
		}
	}
}

func (b *box) check() {
	o := readSales(b.t, b.store, b.shop.Company.ID)
	o.holds(b.t)
	// Nothing is added to the sums of a company that is reset.
	for ref, sum := range o.kept {
		if o.uncounted == driver.SalesReset && sum != b.kept[ref] {
			b.t.Fatalf("%v was changed to %v, although its company is reset", b.kept[ref], sum)
		}
	}
	b.kept = o.kept
	b.checkEvents(&o)
	shown, err := b.shop.Staff.EventSales(b.ctx(), b.shop.Company.ID, []uuid.UUID{{}}, ticketing.Period{})
	b.noErr(err)
	counted := int64(0)
	for ref, sum := range o.sums {
		if ref.EventID == uuid.Nil {
			counted += sum.Orders
		}
	}
	if shown.Items[0].Orders != counted || (shown.CompleteFrom != nil) != (o.uncounted > 0) {
		b.t.Fatalf("%d orders are reported, %d are counted, complete from %v", shown.Items[0].Orders, counted,
			shown.CompleteFrom)
	}
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
		counted = b.count(1000)
	}
	o := readSales(b.t, b.store, b.shop.Company.ID)
	is.New(b.t).Equal(o.uncounted, int64(0))
	o.holds(b.t)
}

// TestSumsOfSalesAmongEverything checks that a rebuild that removes many batches of sums, dispatches, counts, refunds,
// scans and sales at once, by two processes, leave sums that equal the orders at any moment.
func TestSumsOfSalesAmongEverything(t *testing.T) {
	t.Parallel()
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			shop := ticketingtest.New(t, &ticketingtest.Config{
				Store: smallSteps{Store: store.Open(t)}, Float: 1_000_000_00,
			})
			amongEverything(t, shop)
		})
	}
}

// untilFree makes a call that waits for others again while the database is busy, as the next round of a worker does.
func untilFree(call func() error) error {
	for {
		if err := call(); !errors.Is(err, ticketing.ErrBusy) {
			return err
		}
	}
}

func amongEverything(t *testing.T, shop *ticketingtest.Shop) {
	t.Helper()
	is := is.New(t)
	ctx, company := t.Context(), shop.Company.ID
	setSender(t, shop)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 10_00, 1000)
	const earlier, later = 12, 12
	var orders []ticketing.Order
	for range earlier {
		orders = append(orders, shop.Sell(t, event.ID, "VIP", 2))
		shop.Clock.Advance(driver.SalesInterval)
		dispatch(t, shop)
	}
	// One is of all time. Two of the others are a batch.
	is.Equal(len(readSales(t, shop.Store, company).kept), 1+3*earlier)
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
				fail("dispatch", untilFree(func() error { return second(svc.SendMails(ctx)) }))
			}
		})
		works.Go(func() {
			for range earlier {
				fail("count", untilFree(func() error { return second(svc.CountSales(ctx)) }))
				if o := readSales(t, shop.Store, company); !o.right() {
					t.Errorf("up to %d nothing is counted: the sums are %v, the orders make %v", o.uncounted, o.kept, o.sums)
				}
			}
		})
	}
	works.Go(func() {
		_, err := shop.Staff.RebuildSales(ctx, company)
		fail("rebuild", err)
	})
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
	o := readSales(t, shop.Store, company)
	o.holds(t)
	svc := mailing(t, shop, newMailServer())
	for left := o.waiting; left > 0; left = readSales(t, shop.Store, company).waiting {
		_, err := svc.SendMails(ctx)
		is.NoErr(err)
	}
	for more := 1; more > 0; {
		var err error
		more, err = svc.CountSales(ctx)
		is.NoErr(err)
	}
	o = readSales(t, shop.Store, company)
	o.holds(t)
	is.Equal(o.waiting, 0)
	is.Equal(o.uncounted, int64(0))
}
