package ticketing_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// TestManyCompaniesAreReadTogether checks that what staff look at of five hundred companies takes as many statements as
// of one: their sales, and whether anything of theirs changed.
func TestManyCompaniesAreReadTogether(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	is := is.New(t)
	ctx, statements := t.Context(), 0
	e := newEnv(t, testdb.Open(t, testdb.SQLiteDSN(t), &store.Config{
		OnStatement: func(context.Context, store.Statement) { statements++ },
	}))
	e.broken = true // The companies have sums, and no orders.
	first := e.verified(t)
	at := e.clock.now().Truncate(driver.SalesInterval)
	found, watched := []uuid.UUID{first}, []ticketing.Watched{}
	add := func(companies []uuid.UUID) {
		is.NoErr(e.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: companies}); err != nil {
				return err
			}
			model, err := tx.Companies(ctx, []uuid.UUID{first})
			if err != nil {
				return err
			}
			var sums []driver.SalesSum
			for i, id := range companies {
				if id != first {
					company := model[0]
					company.ID, company.Name = id, fmt.Sprint("Company ", i)
					if err := tx.CreateCompany(ctx, company); err != nil {
						return err
					}
				}
				if err := tx.CreateWebhookEndpoint(ctx, driver.WebhookEndpoint{
					CompanyID: id, Number: 1, ID: uuid.New(), URL: "https://hooks.example.com/", Status: driver.WebhookEnabled,
					Events: []driver.FactType{driver.FactOrderCreated}, ActiveSecret: 1, LastSecret: 1,
					CreatedAt: at, UpdatedAt: at,
				}); err != nil {
					return err
				}
				sums = append(sums, driver.SalesSum{
					SalesSumRef: driver.SalesSumRef{CompanyID: id, At: at}, Orders: 1, Gross: money.Amount(i),
				})
			}
			return tx.AddSales(ctx, sums)
		}))
	}
	look := func() (sold ticketing.PlatformSales, took int) {
		t.Helper()
		watched = nil
		for _, id := range found {
			watched = append(watched, ticketing.Watched{CompanyID: id, Topic: ticketing.WatchMoney},
				ticketing.Watched{CompanyID: id, Topic: ticketing.WatchDeliveries},
				ticketing.Watched{CompanyID: id, Topic: ticketing.WatchAudit},
				ticketing.Watched{CompanyID: id, Topic: ticketing.WatchEvent, ID: id},
				ticketing.Watched{CompanyID: id, Topic: ticketing.WatchOrder, ID: id})
		}
		statements = 0
		sold, err := e.staff.PlatformSales(ctx, ticketing.SalesFilter{From: at, To: at.Add(24 * time.Hour)}, 100)
		is.NoErr(err)
		states, err := e.Watch(ctx, watched)
		is.NoErr(err)
		is.Equal(len(states), len(watched))
		return sold, statements
	}
	add(found)
	one, few := look()
	is.Equal(len(one.Companies), 1)
	is.True(!one.HasMore)
	const others = 499
	var more []uuid.UUID
	for range others {
		more = append(more, uuid.New())
	}
	add(more)
	found = append(found, more...)
	all, many := look()
	is.Equal(many, few)
	is.Equal(len(all.Companies), 100)
	is.True(all.HasMore)
	is.Equal(all.Total.Orders, int64(500))
	is.Equal(len(all.Items), 1)
	is.Equal(all.Companies[0].Company.Name, fmt.Sprint("Company ", others-1))
	is.Equal(all.Companies[99].Sales.Gross, money.Amount(others-100))
	is.True(!all.Counting)
	is.NoErr(e.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: more[:1]}); err != nil {
			return err
		}
		return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: more[0], Uncounted: driver.SalesReset})
	}))
	all, _ = look()
	is.Equal(all.Total.Orders, int64(others)) // What is left of a rebuild means nothing.
	is.True(all.Counting)
	_, err := e.staff.PlatformSales(ctx, ticketing.SalesFilter{From: at, EventID: first}, 0)
	is.Equal(said(err), "event: must be empty for all companies")
}

// addSum adds an order of an interval to the sums of a company.
func (e *env) addSum(t *testing.T, company uuid.UUID, at time.Time, gross money.Amount) {
	t.Helper()
	is.New(t).NoErr(e.store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
			return err
		}
		return tx.AddSales(ctx, []driver.SalesSum{{
			SalesSumRef: driver.SalesSumRef{CompanyID: company, At: at}, Orders: 1, Gross: gross,
		}})
	}))
}

// TestPastSalesAreReadOnceAMinute adds to sums of today and of the day before. What is added to the past shows a minute
// later, and at once while orders are being counted.
func TestPastSalesAreReadOnceAMinute(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.broken = true // The companies have sums, and no orders.
		ctx, first, second := t.Context(), e.verified(t), e.verified(t)
		today := e.clock.now().Truncate(24 * time.Hour)
		shows := func(gross ...money.Amount) {
			t.Helper()
			sold, err := e.staff.PlatformSales(ctx, ticketing.SalesFilter{From: today.AddDate(0, 0, -3)}, 0)
			is.NoErr(err)
			var found []money.Amount
			total := money.Amount(0)
			for _, item := range sold.Items {
				total += item.Gross
			}
			for _, company := range sold.Companies {
				found, total = append(found, company.Sales.Gross), total-company.Sales.Gross
			}
			is.Equal(found, gross)
			is.Equal(total, money.Amount(0))
		}
		e.addSum(t, first, today.AddDate(0, 0, -2), 100)
		e.addSum(t, second, today.AddDate(0, 0, -1), 70)
		shows(100, 70)
		e.addSum(t, second, today, 20)
		shows(100, 90)
		e.addSum(t, second, today, 20)
		e.addSum(t, second, today.AddDate(0, 0, -1), 1000)
		shows(110, 100)
		e.clock.advance(time.Minute)
		shows(1110, 100)
		e.addSum(t, first, today.AddDate(0, 0, -1), 5000)
		shows(1110, 100)
		is.NoErr(e.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{second}}); err != nil {
				return err
			}
			return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: second, Uncounted: 1})
		}))
		shows(5100, 1110)
	})
}

// TestPastSalesOfEightPeriodsAreKept looks at nine periods that are past. The eight that were read last are not read
// again within a minute, and the ninth is.
func TestPastSalesOfEightPeriodsAreKept(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.broken = true // The company has sums, and no orders.
		ctx, company := t.Context(), e.verified(t)
		today := e.clock.now().Truncate(24 * time.Hour)
		total := func(days int) money.Amount {
			t.Helper()
			sold, err := e.staff.PlatformSales(ctx, ticketing.SalesFilter{From: today.AddDate(0, 0, -days)}, 0)
			is.NoErr(err)
			return sold.Total.Gross
		}
		e.addSum(t, company, today.AddDate(0, 0, -2), 100)
		const first, kept = 3, 8
		for days := first; days <= first+kept; days++ {
			is.Equal(total(days), money.Amount(100))
		}
		e.addSum(t, company, today.AddDate(0, 0, -2), 1000)
		for days := first + 1; days <= first+kept; days++ {
			is.Equal(total(days), money.Amount(100)) // days
		}
		is.Equal(total(first), money.Amount(1100))
		is.Equal(total(first+1), money.Amount(1100)) // It made place for the first one.
		is.Equal(total(first+kept), money.Amount(100))
	})
}
