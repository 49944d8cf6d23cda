package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// isOpen opens a new database with the schema of this version.
func isOpen(tb testing.TB, cfg *store.Config) *store.Store {
	tb.Helper()
	return openFile(tb, strings.TrimPrefix(testdb.SQLiteDSN(tb), "sqlite:"), cfg)
}

func openFile(tb testing.TB, path string, cfg *store.Config) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), "sqlite:"+path, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// update runs fn in an Update that has entered.
func update(
	ctx context.Context, s driver.Store, fn func(ctx context.Context, tx driver.Tx) error,
) error {
	return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// written commits what fn writes, or fails the test.
func written(tb testing.TB, s driver.Store, fn func(ctx context.Context, tx driver.Tx) error) {
	tb.Helper()
	if err := update(tb.Context(), s, fn); err != nil {
		tb.Fatal(err)
	}
}

func number(n int) uuid.UUID {
	var made uuid.UUID
	binary.BigEndian.PutUint64(made[8:], uint64(n))
	return made
}

// second returns the n-th time, as counted by the SQL that fills databases.
func second(n int) time.Time { return time.UnixMilli(1772600000000 + int64(n)*1000).UTC() }

func minute(n int) time.Time {
	return time.Date(2026, time.March, 4, 5, n, 7, 89_000_000, time.UTC)
}

// company and event are those that most tests use.
var (
	company = number(1)
	event   = driver.EventRef{CompanyID: company, ID: number(2)}
)

func newCompany(id uuid.UUID) driver.Company {
	return driver.Company{
		ID: id, Name: "Lagos Live", Status: driver.CompanyActive,
		Verification:    driver.Verification{Status: driver.VerificationApproved},
		BrandingVersion: 1, CreatedAt: minute(0), UpdatedAt: minute(0),
	}
}

func newEvent(ref driver.EventRef) driver.Event {
	return driver.Event{
		CompanyID: ref.CompanyID, ID: ref.ID, Title: "Afro Nation", Status: driver.EventPublished,
		EndsOn: minute(50), CreatedAt: minute(1), UpdatedAt: minute(1),
	}
}

func newBatch(position int, sold int64) driver.Batch {
	return driver.Batch{
		CompanyID: company, EventID: event.ID, Tier: "Regular", Position: position, Title: "Entry", UnitPrice: 500,
		Status: driver.InventoryAvailable, Quantity: 1000, Sold: sold, CreatedAt: minute(2),
	}
}

func newWallet(wallet ledger.Wallet, balance money.Amount) driver.Wallet {
	return driver.Wallet{
		CompanyID: company, Kind: wallet, Status: driver.WalletActive, Currency: money.Currency,
		Balance: balance, Hash: ledger.Genesis(company, wallet).Hash,
	}
}

// furnish creates a company that is ready to sell, with an event and batches in the tier "Regular".
func furnish(tb testing.TB, s driver.Store, batches ...driver.Batch) {
	tb.Helper()
	written(tb, s, func(ctx context.Context, tx driver.Tx) error {
		rate, err := money.ParseRate("250", money.BasisPoints)
		if err != nil {
			return err
		}
		if err := tx.CreateCompany(ctx, newCompany(company)); err != nil {
			return err
		}
		if err := tx.AppendBranding(ctx, driver.Branding{
			CompanyID: company, Version: 1, BrandName: "Lagos Live", CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.AppendRate(ctx, driver.Rate{
			CompanyID: company, ID: number(3), Position: 1, Rate: rate, EffectiveFrom: minute(0), CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.CreateAPIKey(ctx, driver.APIKey{
			CompanyID: company, ID: number(4), Name: "shop", Grants: ticketing.AllGrants(),
			Status: driver.APIKeyActive, Digest: "v1", CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.CreateWallets(ctx, []driver.Wallet{
			newWallet(ledger.Float, 0), newWallet(ledger.Earnings, 0),
		}); err != nil {
			return err
		}
		if err := tx.CreateEvent(ctx, newEvent(event)); err != nil {
			return err
		}
		if _, err := tx.LockTier(ctx, event, "Regular"); err != nil {
			return err
		}
		for _, batch := range batches {
			if err := tx.CreateBatch(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// sale reads and writes what a checkout of a number of admissions does, in the same calls as the service.
func sale(
	ctx context.Context, tx driver.Tx, order, quantity int,
) error {
	at := minute(10)
	key := driver.IdempotencyKey{CompanyID: company, Operation: "checkouts.create", Key: fmt.Sprintf("key-%d", order)}
	_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: []driver.IdempotencyKey{key}})
	if err != nil {
		return err
	}
	keys := []driver.APIKeyRef{{CompanyID: company, ID: number(4)}}
	if _, err := tx.APIKeys(ctx, keys); err != nil {
		return err
	}
	if _, err := tx.Companies(ctx, []uuid.UUID{company}); err != nil {
		return err
	}
	if _, err := tx.Results(ctx, []driver.IdempotencyKey{key}); err != nil {
		return err
	}
	terms, err := tx.SaleTerms(ctx, []driver.SaleTermsRef{{EventRef: event, BrandingVersion: 1}}, at)
	if err != nil {
		return err
	}
	stock, err := tx.LockStock(ctx, []driver.StockQuery{{
		CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: int64(quantity),
	}})
	if err != nil {
		return err
	}
	wallets, err := tx.LockWallets(ctx, []driver.WalletRef{
		{CompanyID: company, Wallet: ledger.Float}, {CompanyID: company, Wallet: ledger.Earnings},
	})
	if err != nil {
		return err
	}
	return keepSale(ctx, tx, sold{
		order: order, quantity: quantity, at: at, key: key, stock: stock, rate: terms[0].Rate, wallets: wallets,
	})
}

type sold struct {
	order, quantity int
	at              time.Time
	key             driver.IdempotencyKey
	stock           []driver.Batch
	rate            driver.Rate
	wallets         []driver.LockedWallet
}

func keepSale(ctx context.Context, tx driver.Tx, s sold) error {
	orderID := number(1_000_000 + s.order)
	var entries []ledger.Entry
	var wallets []driver.Wallet
	for _, w := range s.wallets {
		head := ledger.Head{
			CompanyID: w.CompanyID, Wallet: w.Kind, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
		}
		entry, head, err := head.Append(ledger.CommissionAccrual, 1, orderID.String(), s.at)
		if err != nil {
			return err
		}
		w.Sequence, w.Balance, w.Hash, w.LastAt = head.Sequence, head.Balance, head.Hash, head.At
		entries, wallets = append(entries, entry), append(wallets, w.Wallet)
	}
	admissions := make([]driver.Admission, s.quantity)
	left := int64(s.quantity)
	for i := range s.stock {
		taken := min(left, s.stock[i].Quantity-s.stock[i].Sold)
		s.stock[i].Sold += taken
		left -= taken
	}
	if left > 0 {
		return fmt.Errorf("%d admissions are missing", left)
	}
	for i := range admissions {
		admissions[i] = driver.Admission{
			CompanyID: company, OrderNumber: entries[0].Sequence, Line: i + 1, ID: number(2_000_000 + s.order*100 + i),
			LineID: number(3_000_000 + s.order*100 + i), OrderID: orderID, EventID: event.ID, Tier: "Regular", Batch: 1,
			Title: "Entry", UnitPrice: 500,
		}
	}
	order := driver.Order{
		CompanyID: company, Number: entries[0].Sequence, ID: orderID, EventID: event.ID,
		Status: driver.OrderConfirmed, Gross: 500, RateID: s.rate.ID, Branding: 1, BuyerEmail: "ada@example.com",
		ConfirmedAt: s.at, CreatedAt: s.at,
	}
	result := driver.IdempotencyResult{IdempotencyKey: s.key, Digest: "v1", Subject: orderID, CreatedAt: s.at}
	fact := func(n int) driver.Fact {
		return driver.Fact{
			CompanyID: company, At: s.at, ID: number(4_000_000 + s.order*10 + n), Type: driver.FactOrderCreated,
			Subject: orderID,
		}
	}
	for _, write := range []func() error{
		func() error { return tx.UpdateBatches(ctx, s.stock) },
		func() error { return tx.AppendOrders(ctx, []driver.Order{order}) },
		func() error { return tx.AppendAdmissions(ctx, admissions) },
		func() error { return tx.AppendEntries(ctx, entries) },
		func() error { return tx.UpdateWallets(ctx, wallets) },
		func() error {
			return tx.PutBuyers(ctx, []driver.Buyer{{
				CompanyID: company, Email: "ada@example.com", CreatedAt: s.at, UpdatedAt: s.at,
			}})
		},
		func() error { return tx.AppendFacts(ctx, []driver.Fact{fact(1), fact(2), fact(3)}) },
		func() error { return tx.AppendResults(ctx, []driver.IdempotencyResult{result}) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
