package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// business is what a shop has sold, refunded, funded and settled, some of it at the same millisecond.
type business struct {
	orders  []ticketing.OrderDetail // newest first
	entries map[ledger.Wallet][]ticketing.LedgerEntry
	events  []uuid.UUID
	times   []time.Time // of what happened, and just before and after it
}

func newBusiness(t *testing.T, shop *ticketingtest.Shop) business {
	t.Helper()
	is := is.New(t)
	var b business
	for range 2 {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 20)
		b.events = append(b.events, event.ID)
	}
	_, err := shop.Staff.SetBankAccount(t.Context(), shop.Company.ID, accountParams())
	is.NoErr(err)
	var ids []uuid.UUID
	for i := range 12 {
		if i%3 != 1 { // Two orders share a millisecond.
			shop.Clock.Advance(7 * time.Minute)
		}
		basket := ticketingtest.Basket(b.events[i%2], "VIP", 100_00, 1)
		basket.Buyer.Email = []string{"ada@example.com", "bob@example.com"}[i/2%2]
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		ids = append(ids, order.ID)
		switch i {
		case 2, 3:
			refund(t, shop, order.ID)
		case 5:
			cancel(t, shop, order.ID)
		case 6:
			settlement, err := shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
			is.NoErr(err)
			shop.Clock.Advance(time.Minute)
			_, err = shop.Staff.RejectSettlement(t.Context(), settlement.ID, "The account is closed.")
			is.NoErr(err)
		case 7:
			shop.Credit(t, 5_00)
		}
	}
	for _, id := range slices.Backward(ids) {
		detail, err := shop.Staff.GetOrder(t.Context(), id)
		is.NoErr(err)
		b.orders = append(b.orders, detail)
	}
	b.entries = make(map[ledger.Wallet][]ticketing.LedgerEntry)
	is.NoErr(shop.Staff.Ledger(t.Context(), shop.Company.ID, "", func(e ticketing.LedgerEntry) error {
		b.entries[e.Wallet] = append(b.entries[e.Wallet], e)
		b.times = append(b.times, e.CreatedAt.Time, e.CreatedAt.Add(time.Millisecond), e.CreatedAt.Add(-time.Millisecond))
		return nil
	}))
	slices.SortFunc(b.times, time.Time.Compare)
	b.times = slices.CompactFunc(b.times, time.Time.Equal)
	return b
}

// periods returns periods that begin and end at, before and after what happened, and those without an end.
func (b business) periods() [][2]time.Time {
	periods := [][2]time.Time{{}, {time.Time{}, b.times[len(b.times)/2]}, {b.times[len(b.times)/2], time.Time{}}}
	for i, from := range b.times {
		for _, j := range []int{i + 1, i + 2, i + 7} {
			if j < len(b.times) {
				periods = append(periods, [2]time.Time{from, b.times[j]})
			}
		}
	}
	return periods
}

func within(at time.Time, period [2]time.Time) bool {
	return !at.Before(period[0]) && (period[1].IsZero() || at.Before(period[1]))
}

// TestOrdersOfAPeriod checks that the orders of a period are those that were confirmed in it, under every other filter
// and in pages.
func TestOrdersOfAPeriod(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		b := newBusiness(t, shop)
		for i, period := range b.periods() {
			var search ticketing.OrderSearch
			search.From, search.To = period[0], period[1]
			search.EventID = []uuid.UUID{{}, b.events[0], b.events[1]}[i%3]
			search.Email = []string{"", "ada@example.com"}[i%2]
			if i%5 == 0 {
				search.Statuses = []ticketing.OrderStatus{ticketing.OrderRefunded, ticketing.OrderConfirmed}
			}
			var want []uuid.UUID
			for _, order := range b.orders {
				if within(order.ConfirmedAt.Time, period) && (search.EventID == uuid.Nil || order.EventID == search.EventID) &&
					(search.Email == "" || order.Buyer.Email == search.Email) &&
					(search.Statuses == nil || slices.Contains(search.Statuses, order.Status)) {
					want = append(want, order.ID)
				}
			}
			search.Limit = 1 + i%4
			var got []uuid.UUID
			for more := true; more; {
				page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
				is.NoErr(err)
				for _, order := range page.Items {
					got = append(got, order.ID)
				}
				more, search.Cursor = page.HasMore, page.NextCursor
			}
			is.Equal(got, want)
		}
		var search ticketing.OrderSearch
		search.From, search.To, search.Limit = b.times[0], b.times[len(b.times)-1], 1
		page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
		is.NoErr(err)
		search.Cursor, search.To = page.NextCursor, search.To.Add(time.Millisecond)
		_, err = shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		_, err = shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{From: search.To, To: search.To})
		is.Equal(said(err), "to: must be later than from")
	})
}

// TestMovementsAreListed checks that the movements of a wallet are listed newest first, by kind, period and reference.
func TestMovementsAreListed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		b := newBusiness(t, shop)
		listed := func(filter ticketing.MovementFilter) (found []ticketing.Movement) {
			t.Helper()
			for more := true; more; {
				page, err := shop.Staff.ListMovements(t.Context(), shop.Company.ID, filter)
				is.NoErr(err)
				found = append(found, page.Items...)
				more, filter.Cursor = page.HasMore, page.NextCursor
			}
			return found
		}
		for wallet, kinds := range map[ledger.Wallet][]ledger.Kind{
			ledger.Float: {ledger.CheckoutDebit, ledger.FloatCredit, ledger.CheckoutRefund},
			ledger.Earnings: {
				ledger.CommissionAccrual, ledger.SettlementDebit, ledger.SettlementRefund, ledger.CommissionReversal,
			},
		} {
			references := []string{"", uuid.NewString(), "nothing"}
			for _, entry := range b.entries[wallet] {
				references = append(references, entry.Reference)
			}
			for i, period := range b.periods() {
				filter := ticketing.MovementFilter{Wallet: wallet, From: period[0], To: period[1], Kinds: kinds[:i%(len(kinds)+1)]}
				if i%3 == 0 {
					filter.Kinds = kinds[1+i%(len(kinds)-1):]
				}
				if i%2 == 0 {
					filter.Reference = references[i/2%len(references)]
				}
				filter.Limit = 1 + i%5
				var want []ticketing.LedgerEntry
				for _, entry := range slices.Backward(b.entries[wallet]) {
					if within(entry.CreatedAt.Time, period) && (len(filter.Kinds) == 0 || slices.Contains(filter.Kinds, entry.Kind)) &&
						(filter.Reference == "" || entry.Reference == filter.Reference) {
						want = append(want, entry)
					}
				}
				var got []ticketing.LedgerEntry
				for _, movement := range listed(filter) {
					got = append(got, movement.LedgerEntry)
				}
				is.Equal(got, want)
			}
			for _, reference := range references {
				var want []string
				for _, entry := range slices.Backward(b.entries[wallet]) {
					if reference != "" && entry.Reference == reference {
						want = append(want, fmt.Sprint(entry.Sequence, entry.Kind))
					}
				}
				var got []string
				for _, movement := range listed(ticketing.MovementFilter{Wallet: wallet, Reference: reference}) {
					if reference != "" {
						got = append(got, fmt.Sprint(movement.Sequence, movement.Kind))
					}
				}
				is.Equal(got, want)
			}
		}
		subjects := map[ticketing.MovementSubject]bool{}
		for _, wallet := range []ledger.Wallet{ledger.Float, ledger.Earnings} {
			for _, movement := range listed(ticketing.MovementFilter{Wallet: wallet}) {
				subjects[movement.Subject] = true
				_, err := shop.Staff.GetOrder(t.Context(), parsed(movement.Reference))
				is.Equal(err == nil, movement.Subject == ticketing.MovementOfOrder)
				_, err = shop.Staff.GetSettlement(t.Context(), parsed(movement.Reference))
				is.Equal(err == nil, movement.Subject == ticketing.MovementOfSettlement)
			}
		}
		is.Equal(len(subjects), 3)
		for _, test := range []struct {
			filter ticketing.MovementFilter
			said   string
		}{
			{ticketing.MovementFilter{}, "wallet: must be FLOAT or EARNINGS"},
			{
				ticketing.MovementFilter{Wallet: ledger.Float, Kinds: []ledger.Kind{ledger.SettlementDebit}},
				"kinds: must be kinds of movements of FLOAT",
			},
			{
				ticketing.MovementFilter{Wallet: ledger.Float, Kinds: []ledger.Kind{ledger.FloatCredit, ledger.FloatCredit}},
				"kinds: must name a kind once",
			},
			{
				ticketing.MovementFilter{Wallet: ledger.Float, Reference: strings.Repeat("x", 129)},
				"reference: must be at most 128 characters",
			},
			{ticketing.MovementFilter{Wallet: ledger.Float, From: opening, To: opening}, "to: must be later than from"},
		} {
			_, err := shop.Staff.ListMovements(t.Context(), shop.Company.ID, test.filter)
			is.Equal(said(err), test.said)
		}
	})
}

// parsed returns the id that a text is, and the zero id for any other text.
func parsed(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// TestBalancesAtTimes checks that the balance at a time is that after all movements before it, in any order of times.
func TestBalancesAtTimes(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		b := newBusiness(t, shop)
		for wallet, entries := range b.entries {
			times := slices.Clone(b.times)
			slices.Reverse(times)
			times = append(times, times[3], opening.AddDate(-1, 0, 0), opening.AddDate(1, 0, 0))
			var want []money.Amount
			for _, at := range times {
				var balance money.Amount
				for _, entry := range entries {
					if entry.CreatedAt.Before(at) {
						balance = entry.BalanceAfter
					}
				}
				want = append(want, balance)
			}
			got, err := shop.Staff.Balances(t.Context(), shop.Company.ID, wallet, times)
			is.NoErr(err)
			is.Equal(got, want)
		}
		none, err := shop.Staff.Balances(t.Context(), shop.Company.ID, ledger.Float, nil)
		is.NoErr(err)
		is.Equal(len(none), 0)
		_, err = shop.Staff.Balances(t.Context(), shop.Company.ID, "GOLD", make([]time.Time, 401))
		is.True(strings.HasPrefix(said(err), "wallet: must be FLOAT or EARNINGS; times: must be at most 400"))
		_, err = shop.Staff.Balances(t.Context(), uuid.New(), ledger.Float, nil)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// countingReads counts the calls that read entries, and the entries that they return. With later it has another
// history, as after a restore: each entry has a later time, and so another hash.
type countingReads struct {
	driver.Store

	calls, entries atomic.Int64
	later          time.Duration
	older          *driver.Wallet // an older record of the wallet, such as that of a standby
}

func (c *countingReads) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return c.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, entryCountTx{tx, c})
	})
}

func (c *countingReads) Snapshot(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return c.Store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, entryCountTx{tx, c})
	})
}

type entryCountTx struct {
	driver.ReadTx

	count *countingReads
}

func (c entryCountTx) Entries(ctx context.Context, refs []driver.EntryRef) ([]ledger.Entry, error) {
	c.count.calls.Add(1)
	c.count.entries.Add(int64(len(refs)))
	entries, err := c.ReadTx.Entries(ctx, refs)
	for i := range entries {
		entries[i].At = entries[i].At.Add(c.count.later)
		entries[i].Hash[0] += byte(c.count.later / time.Hour)
	}
	return entries, err
}

func (c entryCountTx) Wallets(ctx context.Context, refs []driver.WalletRef) ([]driver.Wallet, error) {
	wallets, err := c.ReadTx.Wallets(ctx, refs)
	for i := range wallets {
		wallets[i].Hash[0] += byte(c.count.later / time.Hour)
		if c.count.older != nil {
			wallets[i] = *c.count.older
		}
	}
	return wallets, err
}

// TestBalancesReadFewEntries checks that the balances at many times take few reads of a long chain, and fewer if the
// times are near its end or were asked for before. What is remembered counts only while the end of the chain has the
// same hash: entries that are other ones now are found.
func TestBalancesReadFewEntries(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	is := is.New(t)
	counted := &countingReads{Store: memory.New()}
	e := newEnv(t, counted)
	e.broken = true // These entries belong to no order.
	company := e.verified(t)
	const length = 100_000
	grow := func(length int) {
		is.NoErr(appendFundings(t.Context(), counted.Store, company, length, func(head ledger.Head) time.Time {
			return opening.Add(time.Duration(head.Sequence) * time.Second)
		}))
	}
	grow(length)
	ask := func(first, step, count, calls, entries int64) {
		t.Helper()
		var times []time.Time
		var want []money.Amount
		for n := range count {
			nth := first + n*step
			times = append(times, opening.Add(time.Duration(nth)*time.Second))
			want = append(want, money.Amount(max(nth-int64(counted.later/time.Second), 0)))
		}
		counted.calls.Store(0)
		counted.entries.Store(0)
		got, err := e.staff.Balances(t.Context(), company, ledger.Float, times)
		is.NoErr(err)
		is.Equal(got, want)
		is.True(counted.calls.Load() <= calls)     // statements
		is.True(counted.entries.Load() <= entries) // entries that they read
	}
	ask(length-200, 1, 1, 3, 150)
	ask(0, 1, 1, 3, 150)
	ask(0, length/31, 31, 12, 600)
	ask(0, length/31, 31, 0, 0)
	grow(10)
	ask(0, length/31, 31, 1, 1)
	ask(0, length/400, 400, 15, 4000)
	for n := range int64(20) { // More than are remembered.
		ask(n*31, length/100, 90, 13, 1100)
	}
	grow(10)
	counted.later = 24 * time.Hour
	ask(0, length/100, 90, 10, 800)
	ask(0, length/100, 90, 0, 0)
	counted.later = 0
	ask(0, length/100, 90, 15, 1300)
	counted.older = new(driver.Wallet)
	e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
		wallets, err := tx.Wallets(ctx, driver.WalletRefs(company)[:1])
		*counted.older = wallets[0]
		return err
	})
	grow(10)
	older := counted.older
	counted.older = nil
	ask(0, length/100, 90, 1, 1)
	counted.older = older
	ask(0, length/100, 90, 15, 1300)
	counted.older = nil
	ask(0, length/100, 90, 0, 0)
}

// TestBalancesOfManyCallers checks that callers who ask for times of one chain at once, while it grows, all get the
// balances at these times.
func TestBalancesOfManyCallers(t *testing.T) {
	t.Parallel()
	shop := ticketingtest.New(t, nil)
	is := is.New(t)
	begun := shop.Clock.Now()
	before, err := shop.Staff.GetWallets(t.Context(), shop.Company.ID)
	is.NoErr(err)
	fund := func(from, to int) {
		for n := from; n < to; n++ {
			shop.Clock.Advance(time.Second)
			_, err := shop.Staff.CreditFloat(t.Context(), shop.Company.ID, fmt.Sprintf("transfer-%04d", n), 1_00)
			is.NoErr(err)
		}
	}
	const funded = 300
	fund(0, funded)
	var all sync.WaitGroup
	for caller := range 4 {
		all.Go(func() {
			for n := range 50 {
				nth := (n*37 + caller*11) % funded
				got, err := shop.Staff.Balances(t.Context(), shop.Company.ID, ledger.Float,
					[]time.Time{begun.Add(time.Duration(nth)*time.Second + time.Millisecond)})
				if want := before.Float + money.Amount(nth)*1_00; err != nil || got[0] != want {
					t.Errorf("the balance after %d fundings is %v, want %v: %v", nth, got, want, err)
				}
			}
		})
	}
	fund(funded, funded+50)
	all.Wait()
}

// TestAccrualsAreFoundByTheirOrder checks that the commission of an order is found by its reference wherever the two
// wallets have come to: FLOAT may be far ahead of EARNINGS.
func TestAccrualsAreFoundByTheirOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		orders := []ticketing.Order{shop.Sell(t, event.ID, "VIP", 1)}
		for n := range 80 {
			_, err := shop.Staff.CreditFloat(t.Context(), shop.Company.ID, fmt.Sprintf("transfer-%04d", n), 1_00)
			is.NoErr(err)
			if n%20 == 0 {
				orders = append(orders, shop.Sell(t, event.ID, "VIP", 1))
			}
		}
		orders = append(orders, shop.Sell(t, event.ID, "VIP", 1), shop.Sell(t, event.ID, "VIP", 1))
		for i, order := range orders {
			found, err := shop.Staff.ListMovements(t.Context(), shop.Company.ID, ticketing.MovementFilter{
				Wallet: ledger.Earnings, Reference: order.ID.String(),
			})
			is.NoErr(err)
			is.Equal(len(found.Items), 1)
			is.Equal(found.Items[0].Sequence, int64(i+1))
		}
	})
}
