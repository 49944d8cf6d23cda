package ticketing_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
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

// ledgerEntries sets the size of the books that benchmarks verify:
// go test -run '^$' -bench Ledger -ledger-entries 1000000 .
var ledgerEntries = flag.Int("ledger-entries", 20_000, "how many movements the books of benchmarks hold")

// fillBooks writes sales of one admission each into a company's books, in groups, until they hold the given number of
// movements.
func fillBooks(b testing.TB, shop *ticketingtest.Shop, movements int) {
	b.Helper()
	is := is.New(b)
	event := shop.Event(b).ID
	orders := (movements - 1) / 2
	const group = 1000
	for done := 0; done < orders; done += group {
		shop.Clock.Advance(time.Second)
		count := min(group, orders-done)
		is.NoErr(shop.Store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
			return writeSales(ctx, tx, shop, event, done, count)
		}))
	}
}

// writeSales writes sales as a group of checkouts does.
func writeSales(ctx context.Context, tx driver.Tx, shop *ticketingtest.Shop, event uuid.UUID, done, count int) error {
	company, at := shop.Company.ID, shop.Clock.Now()
	if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
		return err
	}
	rates, err := tx.EffectiveRates(ctx, []uuid.UUID{company}, at)
	if err != nil {
		return err
	}
	ref := driver.EventRef{CompanyID: company, ID: event}
	tier, err := tx.LockTier(ctx, ref, "VIP")
	if err != nil {
		return err
	}
	wallets, err := tx.LockWallets(ctx, []driver.WalletRef{
		{CompanyID: company, Wallet: ledger.Float}, {CompanyID: company, Wallet: ledger.Earnings},
	})
	if err != nil {
		return err
	}
	var orders []driver.Order
	var admissions []driver.Admission
	var entries []ledger.Entry
	var spent []driver.IdempotencyResult
	tier.Batches, tier.Total = tier.Batches+1, tier.Total+int64(count)
	for i := range count {
		price := money.Amount(1000 + (done+i)%7*500)
		order := driver.Order{
			CompanyID: company, Number: wallets[0].Sequence + 1, ID: uuid.New(), EventID: event,
			Status: ticketing.OrderConfirmed, Gross: price, Commission: rates[0].Rate.Of(price), RateID: rates[0].ID,
			Branding: 1, FloatBefore: wallets[0].Balance, EarningsBefore: wallets[1].Balance,
			BuyerEmail: fmt.Sprintf("buyer-%d@example.com", done+i), BuyerFullname: "Ada Obi", ConfirmedAt: at, CreatedAt: at,
		}
		orders, spent = append(orders, order), append(spent, spentOn(order))
		admissions = append(admissions, driver.Admission{
			CompanyID: company, OrderNumber: order.Number, Line: 1, ID: uuid.New(), LineID: uuid.New(), OrderID: order.ID,
			EventID: event, Tier: "VIP", Batch: tier.Batches, Title: "VIP seat", UnitPrice: price,
		})
		for w, moved := range []struct {
			kind   ledger.Kind
			amount money.Amount
		}{{ledger.CheckoutDebit, -price}, {ledger.CommissionAccrual, order.Commission}} {
			wallet := &wallets[w].Wallet
			head := ledger.Head{
				CompanyID: company, Wallet: wallet.Kind, Sequence: wallet.Sequence, Balance: wallet.Balance,
				Hash: wallet.Hash, At: wallet.LastAt,
			}
			entry, head, err := head.Append(moved.kind, moved.amount, order.ID.String(), at)
			if err != nil {
				return err
			}
			entries = append(entries, entry)
			wallet.Balance, wallet.Sequence, wallet.Hash, wallet.LastAt = head.Balance, head.Sequence, head.Hash, head.At
		}
	}
	for _, write := range []func() error{
		func() error { return tx.UpdateTiers(ctx, []driver.Tier{tier}) },
		func() error {
			return tx.CreateBatch(ctx, driver.Batch{
				CompanyID: company, EventID: event, Tier: "VIP", Position: tier.Batches, Title: "VIP seat", UnitPrice: 1000,
				Status: ticketing.InventoryAvailable, Quantity: int64(count), Sold: int64(count), CreatedAt: at,
			})
		},
		func() error { return tx.AppendOrders(ctx, orders) },
		func() error { return tx.AppendAdmissions(ctx, admissions) },
		func() error { return tx.AppendEntries(ctx, entries) },
		func() error { return tx.AppendResults(ctx, spent) },
		func() error { return tx.AppendFacts(ctx, factsOf(orders)) },
		func() error {
			return tx.UpdateWallets(ctx, []driver.Wallet{wallets[0].Wallet, wallets[1].Wallet})
		},
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// hashing returns how long hashing one movement of a wallet takes, without anything else.
func hashing(b *testing.B, shop *ticketingtest.Shop) time.Duration {
	b.Helper()
	var bytes [][]byte
	is.New(b).NoErr(shop.Store.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		entries, err := tx.ListEntries(ctx, driver.LedgerQuery{
			WalletRef: driver.WalletRef{CompanyID: shop.Company.ID, Wallet: ledger.Float}, Limit: 1000,
		})
		for _, entry := range entries {
			bytes = append(bytes, entry.Bytes())
		}
		return err
	}))
	const rounds = 100
	begun := time.Now()
	for range rounds {
		for _, text := range bytes {
			sha256.Sum256(text)
		}
	}
	return time.Since(begun) / time.Duration(rounds*len(bytes))
}

// resident returns how many megabytes of memory this process holds, or 0 if the system does not report it.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return float64(pages*int64(os.Getpagesize())) / (1 << 20)
}

// onBooks runs a benchmark over long books, on each store that keeps them on a disk. It reports the cost of each
// movement, its ratio to the hashing alone, and the most memory that the process held.
func onBooks(b *testing.B, run func(b *testing.B, shop *ticketingtest.Shop, progress func(done, total int64)) int64) {
	b.Helper()
	for _, store := range stores() {
		if store.Name != "sqlite" && store.Name != "postgres" {
			continue
		}
		b.Run(store.Name, func(b *testing.B) {
			shop := openShop(b, store, &ticketingtest.Config{Float: money.MaxInput})
			fillBooks(b, shop, *ledgerEntries)
			alone := hashing(b, shop)
			debug.FreeOSMemory()
			begun, most, movements := resident(), float64(0), int64(0)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				movements += run(b, shop, func(int64, int64) { most = max(most, resident()) })
			}
			runtime.ReadMemStats(&after)
			each := b.Elapsed() / time.Duration(movements)
			b.ReportMetric(float64(each.Nanoseconds()), "ns/movement")
			b.ReportMetric(float64(each)/float64(alone), "x-hashing")
			b.ReportMetric(most, "MB-most")
			b.ReportMetric(most-begun, "MB-more")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(movements), "allocs/movement")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkVerifyLedger measures a verification of the books from the first movement to the last.
func BenchmarkVerifyLedger(b *testing.B) {
	onBooks(b, func(b *testing.B, shop *ticketingtest.Shop, progress func(done, total int64)) int64 {
		b.Helper()
		report, err := shop.Staff.VerifyLedger(b.Context(), shop.Company.ID, progress)
		if err != nil || !report.OK {
			b.Fatal(err, strings.Join(report.Problems, "\n"))
		}
		return report.Entries
	})
}

// BenchmarkExportLedger measures an export of a company's complete ledger.
func BenchmarkExportLedger(b *testing.B) {
	onBooks(b, func(b *testing.B, shop *ticketingtest.Shop, progress func(done, total int64)) int64 {
		b.Helper()
		signed, err := shop.Staff.ExportLedger(b.Context(), shop.Company.ID, io.Discard, progress)
		if err != nil {
			b.Fatal(err)
		}
		return signed.Entries
	})
}
