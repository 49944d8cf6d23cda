package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/floatgate/ticketing/driver"
)

// BenchmarkTier shows that sold-out batches cost nothing: reading a tier and locking its stock take as long with 1,000
// batches, most of them sold out, as with one.
func BenchmarkTier(b *testing.B) {
	for _, batches := range []int{1, 1000} {
		s := isOpen(b, nil)
		furnish(b, s)
		written(b, s, func(ctx context.Context, tx driver.Tx) error {
			for i := range batches {
				sold := int64(1000)
				if i == batches-1 {
					sold = 0
				}
				if err := tx.CreateBatch(ctx, newBatch(i+1, sold)); err != nil {
					return err
				}
			}
			return nil
		})
		b.Run(fmt.Sprintf("read/%d", batches), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.CountTiers(ctx, event, nil)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("lock/%d", batches), func(b *testing.B) {
			b.ReportAllocs()
			if err := update(b.Context(), s, func(ctx context.Context, tx driver.Tx) error {
				for b.Loop() {
					if _, err := tx.LockStock(ctx, []driver.StockQuery{{
						CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 50,
					}}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPage shows that a page costs the same at any depth.
func BenchmarkPage(b *testing.B) {
	const orders, page = 100_000, 100
	s := isOpen(b, nil)
	furnish(b, s)
	written(b, s, func(ctx context.Context, tx driver.Tx) error {
		records := make([]driver.Order, orders)
		for i := range records {
			records[i] = driver.Order{
				CompanyID: company, Number: int64(i + 1), ID: number(1_000_000 + i), EventID: event.ID,
				Status: driver.OrderConfirmed, RateID: number(3), Branding: 1, BuyerEmail: "ada@example.com",
				ConfirmedAt: minute(1), CreatedAt: minute(1),
			}
			if i%1000 == 0 {
				records[i].Status = driver.OrderRefunded
			}
		}
		return tx.AppendOrders(ctx, records)
	})
	for _, filter := range []struct {
		name     string
		statuses []driver.OrderStatus
	}{
		{"any", nil},
		{"refunded", []driver.OrderStatus{driver.OrderRefunded}},
	} {
		for _, before := range []int64{0, orders / 2} {
			b.Run(fmt.Sprintf("%s/before-%d", filter.name, before), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := s.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
						_, err := tx.ListOrders(ctx, driver.OrderQuery{
							CompanyID: company, EventID: event.ID, Statuses: filter.statuses, After: before, Limit: page,
						})
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCompanies shows that any page of a list of companies is quick among ten thousand, also one for which the
// filter leaves out nearly all of them.
func BenchmarkCompanies(b *testing.B) {
	const companies, page = 10_000, 100
	s := isOpen(b, nil)
	written(b, s, func(ctx context.Context, tx driver.Tx) error {
		for i := range companies {
			one := newCompany(number(1_000_000 + i))
			one.Name, one.CreatedAt = fmt.Sprintf("Company %d", i*7919%companies), second(i)
			one.Verification.Status, one.Verification.ApprovalExpiresAt = driver.VerificationApproved, second(i*31%companies)
			if i == companies/2 {
				one.Status, one.Verification = driver.CompanySuspended, driver.Verification{Status: driver.VerificationRevoked}
			}
			if err := tx.CreateCompany(ctx, one); err != nil {
				return err
			}
		}
		return nil
	})
	for _, order := range []driver.CompanyOrder{
		driver.CompaniesNewest, driver.CompaniesByName, driver.CompaniesByExpiry,
	} {
		for _, filter := range []struct {
			name  string
			query driver.CompanyQuery
		}{
			{"any", driver.CompanyQuery{}},
			{"deep", driver.CompanyQuery{After: driver.CompanyPlace{At: second(companies / 2), Name: "company 5"}}},
			{"prefix", driver.CompanyQuery{Prefix: "company 77"}},
			{"no prefix", driver.CompanyQuery{Prefix: "none"}},
			{"suspended", driver.CompanyQuery{Status: driver.CompanySuspended}},
			{"revoked", driver.CompanyQuery{Verification: driver.VerificationRevoked}},
			{"expires", driver.CompanyQuery{ExpiresBefore: second(10)}},
		} {
			b.Run(string(order)+"/"+filter.name, func(b *testing.B) {
				b.ReportAllocs()
				query := filter.query
				query.Order, query.Limit = order, page
				for b.Loop() {
					if err := s.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
						_, err := tx.SearchCompanies(ctx, query)
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
