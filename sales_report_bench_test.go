package ticketing_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// These flags set the sizes of benchmarks, as in
// go test -run '^$' -bench BenchmarkPlatformSales -sellers 500 .
var (
	sellers   = flag.Int("sellers", 50, "how many companies sold in BenchmarkPlatformSales")
	salesDays = flag.Int("sales-days", ticketing.MaxSalesDays, "how many days the report of BenchmarkSales is of")
	quarters  = flag.Int("event-quarters", 1000, "in how many quarters of an hour each event sold in BenchmarkEventSales")
)

// BenchmarkSales measures a report by day of -sales-days in which each of three tiers sold in every quarter of an hour.
//
//	go test -run '^$' -bench BenchmarkSales .
func BenchmarkSales(b *testing.B) {
	for _, store := range stores() {
		if store.Name == "rerun" {
			continue
		}
		b.Run(store.Name, func(b *testing.B) {
			is := is.New(b)
			shop := openShop(b, store, nil)
			shop.BooksAreBroken()
			event, tiers := uuid.New(), []string{"REGULAR", "VIP", "STUDENT"}
			const quarters = 24 * 4 // of a day
			days := *salesDays
			first := ticketingtest.Opening.Truncate(24 * time.Hour)
			for _, tier := range tiers {
				for day := range days {
					addSums(b, shop, event, tier, first.AddDate(0, 0, day), quarters)
				}
			}
			for b.Loop() {
				report, err := shop.Staff.Sales(b.Context(), shop.Company.ID, ticketing.SalesFilter{
					EventID: event, Tiers: true, From: first, To: first.AddDate(0, 0, days),
				})
				is.NoErr(err)
				is.Equal(len(report.Items), days*len(tiers))
			}
		})
	}
}

// BenchmarkPlatformSales measures what all companies sold by day, where each sold in every quarter of an hour of a
// week.
//
//	go test -run '^$' -bench BenchmarkPlatformSales -sellers 500 .
func BenchmarkPlatformSales(b *testing.B) {
	for _, store := range stores() {
		if store.Name == "rerun" {
			continue
		}
		b.Run(store.Name, func(b *testing.B) {
			is := is.New(b)
			shop := openShop(b, store, nil)
			shop.BooksAreBroken()
			const days, quarters = 7, 24 * 4
			first := ticketingtest.Opening.Truncate(24 * time.Hour)
			for range *sellers {
				company, err := shop.Staff.CreateCompany(b.Context(), "Adire Concerts")
				is.NoErr(err)
				addSumsOf(b, shop, company.ID, uuid.Nil, "", first, days*quarters) // Of the whole company.
			}
			// What was read of past days is used again for a minute.
			shop.Clock.Advance((days + 1) * 24 * time.Hour)
			for name, later := range map[string]time.Duration{"read": time.Minute, "used again": 0} {
				b.Run(name, func(b *testing.B) {
					is := is.New(b)
					for b.Loop() {
						shop.Clock.Advance(later)
						report, err := shop.Staff.PlatformSales(b.Context(), ticketing.SalesFilter{
							From: first, To: first.AddDate(0, 0, days),
						}, 0)
						is.NoErr(err)
						is.Equal(report.Total.Orders, int64(*sellers*days*quarters))
						is.Equal(len(report.Companies), min(*sellers, ticketing.DefaultPageLimit))
					}
				})
			}
		})
	}
}

// addSums adds the sums of a tier that sold in each of some quarters of an hour.
func addSums(b *testing.B, shop *ticketingtest.Shop, event uuid.UUID, tier string, from time.Time, quarters int) {
	b.Helper()
	addSumsOf(b, shop, shop.Company.ID, event, tier, from, quarters)
}

// addSumsOf is addSums for any company. The tier "" stands for all tiers of the event together, and the event uuid.Nil
// for all events of the company.
func addSumsOf(
	b *testing.B, shop *ticketingtest.Shop, company, event uuid.UUID, tier string, from time.Time, quarters int,
) {
	b.Helper()
	sums := make([]driver.SalesSum, quarters)
	for quarter := range quarters {
		at := from.Add(time.Duration(quarter) * driver.SalesInterval)
		sums[quarter] = driver.SalesSum{
			SalesSumRef: driver.SalesSumRef{CompanyID: company, EventID: event, Tier: tier, At: at},
			Orders:      1, Admissions: 2, Gross: 3,
		}
	}
	is.New(b).NoErr(shop.Store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
			return err
		}
		return tx.AddSales(ctx, sums)
	}))
}

// BenchmarkEventSales measures what the events of a page sold, each of which sold in -event-quarters of an hour: in
// all time, which is kept, and in a period, which is added up.
//
//	go test -run '^$' -bench BenchmarkEventSales .
func BenchmarkEventSales(b *testing.B) {
	for _, store := range stores() {
		if store.Name == "rerun" {
			continue
		}
		b.Run(store.Name, func(b *testing.B) {
			is := is.New(b)
			shop := openShop(b, store, nil)
			shop.BooksAreBroken()
			events := make([]uuid.UUID, ticketing.DefaultPageLimit)
			for i := range events {
				events[i] = uuid.New()
				addSums(b, shop, events[i], "", ticketingtest.Opening, *quarters) // Of all tiers together.
				onCompany(b, shop, func(ctx context.Context, tx driver.Tx) error {
					return tx.AddSales(ctx, []driver.SalesSum{{
						SalesSumRef: driver.SalesSumRef{CompanyID: shop.Company.ID, EventID: events[i]}, Orders: int64(*quarters),
					}})
				})
			}
			for _, period := range []struct {
				name string
				from time.Time
			}{{"ever", time.Time{}}, {"period", ticketingtest.Opening}} {
				b.Run(period.name, func(b *testing.B) {
					for b.Loop() {
						report, err := shop.Staff.EventSales(b.Context(), shop.Company.ID, events, ticketing.Period{From: period.from})
						is.NoErr(err)
						is.Equal(report.Items[0].Orders, int64(*quarters))
					}
				})
			}
		})
	}
}
