package ticketing_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// onBenches runs a benchmark on each store, with a shop whose FLOAT no benchmark exhausts.
func onBenches(b *testing.B, bench func(b *testing.B, shop *ticketingtest.Shop)) {
	b.Helper()
	for _, store := range stores() {
		if store.Name == "rerun" {
			continue // This store runs every transaction twice.
		}
		b.Run(store.Name, func(b *testing.B) {
			b.ReportAllocs()
			bench(b, openShop(b, store, &ticketingtest.Config{Float: money.MaxInput}))
		})
	}
}

// stock puts admissions on sale in batches that differ from each other. All but the newest are sold out.
func stock(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID, batches int, admissions int64) {
	b.Helper()
	ref := driver.EventRef{CompanyID: shop.Company.ID, ID: eventID}
	is.New(b).NoErr(shop.Store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
			return err
		}
		tier, err := tx.LockTier(ctx, ref, "VIP")
		if err != nil {
			return err
		}
		each := admissions / int64(batches)
		for i := range batches {
			batch := driver.Batch{
				CompanyID: ref.CompanyID, EventID: ref.ID, Tier: "VIP", Position: i + 1, Title: fmt.Sprintf("Batch %d", i),
				UnitPrice: 1, Status: ticketing.InventoryAvailable, Quantity: each, Sold: each, CreatedAt: shop.Clock.Now(),
			}
			if i == batches-1 {
				batch.Quantity, batch.Sold = 1<<40, 0 // More than any benchmark sells.
			}
			if err := tx.CreateBatch(ctx, batch); err != nil {
				return err
			}
		}
		tier.Batches, tier.Total = batches, admissions
		return tx.UpdateTiers(ctx, []driver.Tier{tier})
	}))
	shop.BooksAreBroken() // These batches were sold without orders.
}

// buy sells VIP admissions at one kobo until the benchmark ends.
func buy(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID, quantity int) {
	b.Helper()
	basket := ticketingtest.Basket(eventID, "VIP", 1, quantity)
	for b.Loop() {
		shop.Clock.Advance(time.Millisecond)
		if _, err := shop.Checkout(b.Context(), shop.Caller, shop.Key(), basket); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckout measures a sale of two admissions, by one caller and by 64 concurrent callers.
func BenchmarkCheckout(b *testing.B) {
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		event := shop.Event(b)
		stock(b, shop, event.ID, 1, 1000)
		b.Run("one caller", func(b *testing.B) {
			b.ReportAllocs()
			buy(b, shop, event.ID, 2)
		})
		b.Run("64 callers", func(b *testing.B) {
			b.ReportAllocs()
			basket := ticketingtest.Basket(event.ID, "VIP", 1, 2)
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					shop.Clock.Advance(time.Millisecond)
					if _, err := shop.Checkout(b.Context(), shop.Caller, shop.Key(), basket); err != nil {
						b.Error(err)
					}
				}
			})
		})
	})
}

// BenchmarkCheckoutOf compares a sale of one admission with a sale of fifty: both take the same number of statements,
// but fifty write fifty rows.
func BenchmarkCheckoutOf(b *testing.B) {
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		event := shop.Event(b)
		stock(b, shop, event.ID, 1, 1000)
		for _, quantity := range []int{1, 50} {
			b.Run(fmt.Sprint(quantity), func(b *testing.B) {
				b.ReportAllocs()
				buy(b, shop, event.ID, quantity)
			})
		}
	})
}

// BenchmarkCreateInventoryOf compares creating a thousand admissions with creating one. The goal is at most 1.2 times
// the cost.
func BenchmarkCreateInventoryOf(b *testing.B) {
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		for _, quantity := range []int{1, 1000} {
			b.Run(fmt.Sprint(quantity), func(b *testing.B) {
				b.ReportAllocs()
				params := ticketingtest.InventoryParams("VIP", 1, quantity)
				eventID := uuid.Nil
				for i := 0; b.Loop(); i++ {
					if i%(ticketing.MaxTierAdmissions/1000) == 0 { // The tier is about to be full.
						b.StopTimer()
						eventID = shop.Event(b).ID
						b.StartTimer()
					}
					if _, err := shop.CreateInventory(b.Context(), shop.Caller, eventID, shop.Key(), params); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// largeAndSmall runs a benchmark on a tier of ten admissions in one batch, and on one of a million in a thousand
// batches, most of them sold out. The goal for the second is at most 1.2 times the cost of the first.
func largeAndSmall(b *testing.B, bench func(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID)) {
	b.Helper()
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		for _, size := range []struct {
			admissions int64
			batches    int
		}{{10, 1}, {ticketing.MaxTierAdmissions, 1000}} {
			event := shop.Event(b)
			stock(b, shop, event.ID, size.batches, size.admissions)
			b.Run(fmt.Sprintf("of %d", size.admissions), func(b *testing.B) {
				b.ReportAllocs()
				bench(b, shop, event.ID)
			})
		}
	})
}

func BenchmarkReadTier(b *testing.B) {
	largeAndSmall(b, func(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID) {
		b.Helper()
		for b.Loop() {
			if _, err := shop.ListInventory(b.Context(), shop.Caller, eventID); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkQuoteTier(b *testing.B) {
	largeAndSmall(b, func(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID) {
		b.Helper()
		params := ticketing.QuoteParams{EventID: eventID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}}}
		for b.Loop() {
			if _, err := shop.Quote(b.Context(), shop.Caller, params); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCheckoutTier(b *testing.B) {
	largeAndSmall(b, func(b *testing.B, shop *ticketingtest.Shop, eventID uuid.UUID) {
		b.Helper()
		buy(b, shop, eventID, 2)
	})
}

var pages = flag.Int("pages", 1000, "how many pages the lists of benchmarks have")

const pageSize = 10

// firstAndLast reads the first and the last page of a list repeatedly. The goal is that they cost the same.
func firstAndLast[T any](
	b *testing.B, list func(ticketing.PageParams) (ticketing.Page[T], error),
) {
	b.Helper()
	params := ticketing.PageParams{Limit: pageSize}
	at := map[int]string{1: ""}
	for page := 2; page <= *pages; page++ {
		found, err := list(params)
		is.New(b).NoErr(err)
		params.Cursor = found.NextCursor
		at[page] = found.NextCursor
	}
	for _, page := range []int{1, *pages} {
		b.Run(fmt.Sprintf("page %d", page), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := list(ticketing.PageParams{Limit: pageSize, Cursor: at[page]})
				if err != nil || len(found.Items) != pageSize {
					b.Fatal(len(found.Items), err)
				}
			}
		})
	}
}

func BenchmarkListEvents(b *testing.B) {
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		model := shop.Event(b)
		for done := 0; done < *pages*pageSize; {
			is.New(b).NoErr(shop.Store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
				if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
					return err
				}
				for range min(1000, *pages*pageSize) {
					done++
					at := model.CreatedAt.Add(time.Duration(done) * time.Millisecond)
					if err := tx.CreateEvent(ctx, driver.Event{
						CompanyID: shop.Company.ID, ID: uuid.New(), Title: "Lagos Night", Status: ticketing.EventDraft,
						Date: "2026-12-21", StartsAt: "19:00", EndsAt: "23:30", Timezone: "Africa/Lagos",
						ImageURL: model.ImageURL, CreatedAt: at, UpdatedAt: at,
					}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		firstAndLast(b, func(p ticketing.PageParams) (ticketing.Page[ticketing.Event], error) {
			return shop.ListEvents(b.Context(), shop.Caller, ticketing.EventFilter{PageParams: p})
		})
	})
}

func BenchmarkListOrders(b *testing.B) {
	onBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		event := shop.Event(b)
		stock(b, shop, event.ID, 1, 1000)
		first := shop.Sell(b, event.ID, "VIP", 1)
		for done := 0; done < *pages*pageSize; { // These orders have no ledger entries, which no list reads.
			is.New(b).NoErr(shop.Store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
				if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
					return err
				}
				orders := make([]driver.Order, min(1000, *pages*pageSize))
				admissions := make([]driver.Admission, len(orders))
				for i := range orders {
					done++
					orders[i] = driver.Order{
						CompanyID: shop.Company.ID, Number: int64(1000 + done), ID: uuid.New(), EventID: event.ID,
						Status: ticketing.OrderConfirmed, RateID: first.Commission.Rate.ID, Branding: 1, FloatBefore: 1,
						BuyerEmail: "ada@example.com", ConfirmedAt: shop.Clock.Now(), CreatedAt: shop.Clock.Now(),
					}
					admissions[i] = driver.Admission{
						CompanyID: shop.Company.ID, OrderNumber: orders[i].Number, Line: 1, ID: uuid.New(), LineID: uuid.New(),
						OrderID: orders[i].ID, EventID: event.ID, Tier: "VIP", Batch: 1, Title: "VIP",
					}
				}
				if err := tx.AppendOrders(ctx, orders); err != nil {
					return err
				}
				return tx.AppendAdmissions(ctx, admissions)
			}))
		}
		firstAndLast(b, func(p ticketing.PageParams) (ticketing.Page[ticketing.Order], error) {
			return shop.ListOrders(b.Context(), shop.Caller, ticketing.OrderFilter{PageParams: p})
		})
	})
}
