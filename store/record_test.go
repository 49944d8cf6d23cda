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
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// open opens a new database with the schema of this version.
func open(tb testing.TB, cfg *store.Config) *store.Store {
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
	ctx context.Context, s ticketing.Store, fn func(ctx context.Context, tx ticketing.Tx) error,
) error {
	return s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{}); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// written keeps what fn writes, or fails the test.
func written(tb testing.TB, s ticketing.Store, fn func(ctx context.Context, tx ticketing.Tx) error) {
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

// second is a time of a number, as what fills databases counts it.
func second(n int) time.Time { return time.UnixMilli(1772600000000 + int64(n)*1000).UTC() }

func minute(n int) time.Time {
	return time.Date(2026, time.March, 4, 5, n, 7, 89_000_000, time.UTC)
}

// The company and the event that most tests are about.
var (
	company = number(1)
	event   = ticketing.EventRef{CompanyID: company, ID: number(2)}
)

func companyRecord(id uuid.UUID) ticketing.CompanyRecord {
	return ticketing.CompanyRecord{
		ID: id, Name: "Lagos Live", Status: ticketing.CompanyActive,
		Verification:    ticketing.VerificationRecord{Status: ticketing.VerificationApproved},
		BrandingVersion: 1, CreatedAt: minute(0), UpdatedAt: minute(0),
	}
}

func eventRecord(ref ticketing.EventRef) ticketing.EventRecord {
	return ticketing.EventRecord{
		CompanyID: ref.CompanyID, ID: ref.ID, Title: "Afro Nation", Status: ticketing.EventPublished,
		EndsOn: minute(50), CreatedAt: minute(1), UpdatedAt: minute(1),
	}
}

func batchRecord(position int, sold int64) ticketing.BatchRecord {
	return ticketing.BatchRecord{
		CompanyID: company, EventID: event.ID, Tier: "Regular", Position: position, Title: "Entry", UnitPrice: 500,
		Status: ticketing.InventoryAvailable, Quantity: 1000, Sold: sold, CreatedAt: minute(2),
	}
}

func walletRecord(wallet ledger.Wallet, balance money.Amount) ticketing.WalletRecord {
	return ticketing.WalletRecord{
		CompanyID: company, Wallet: wallet, Status: ticketing.WalletActive, Currency: money.Currency,
		Balance: balance, Hash: ledger.Genesis(company, wallet).Hash,
	}
}

// furnish makes a company that is ready to sell, with an event and batches in the tier "Regular".
func furnish(tb testing.TB, s ticketing.Store, batches ...ticketing.BatchRecord) {
	tb.Helper()
	written(tb, s, func(ctx context.Context, tx ticketing.Tx) error {
		rate, err := money.ParseRate("250", money.BasisPoints)
		if err != nil {
			return err
		}
		if err := tx.CreateCompany(ctx, companyRecord(company)); err != nil {
			return err
		}
		if err := tx.AppendBranding(ctx, ticketing.BrandingRecord{
			CompanyID: company, Version: 1, BrandName: "Lagos Live", CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.AppendRate(ctx, ticketing.RateRecord{
			CompanyID: company, ID: number(3), Position: 1, Rate: rate, EffectiveFrom: minute(0), CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.CreateAPIKey(ctx, ticketing.APIKeyRecord{
			CompanyID: company, ID: number(4), Name: "shop", Grants: ticketing.AllGrants(),
			Status: ticketing.APIKeyActive, Digest: "v1", CreatedAt: minute(0),
		}); err != nil {
			return err
		}
		if err := tx.CreateWallets(ctx, []ticketing.WalletRecord{
			walletRecord(ledger.Float, 0), walletRecord(ledger.Earnings, 0),
		}); err != nil {
			return err
		}
		if err := tx.CreateEvent(ctx, eventRecord(event)); err != nil {
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

// sale is what a checkout of a number of admissions asks and writes, call by call as the service makes them.
func sale(
	ctx context.Context, tx ticketing.Tx, order, quantity int,
) error {
	at := minute(10)
	key := ticketing.ResultRef{CompanyID: company, Operation: "checkouts.create", Key: fmt.Sprintf("key-%d", order)}
	_, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Claim: []ticketing.ResultRef{key}})
	if err != nil {
		return err
	}
	keys := []ticketing.APIKeyRef{{CompanyID: company, ID: number(4)}}
	if _, err := tx.APIKeys(ctx, keys); err != nil {
		return err
	}
	if _, err := tx.Companies(ctx, []uuid.UUID{company}); err != nil {
		return err
	}
	if _, err := tx.Results(ctx, []ticketing.ResultRef{key}); err != nil {
		return err
	}
	terms, err := tx.SaleTerms(ctx, []ticketing.SaleTermsRef{{EventRef: event, BrandingVersion: 1}}, at)
	if err != nil {
		return err
	}
	stock, err := tx.LockStock(ctx, []ticketing.StockQuery{{
		CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: int64(quantity),
	}})
	if err != nil {
		return err
	}
	wallets, err := tx.LockWallets(ctx, []ticketing.WalletRef{
		{CompanyID: company, Wallet: ledger.Float}, {CompanyID: company, Wallet: ledger.Earnings},
	})
	if err != nil {
		return err
	}
	return keepSale(ctx, tx, sold{order: order, quantity: quantity, at: at, key: key, stock: stock, rate: terms[0].Rate, wallets: wallets})
}

type sold struct {
	order, quantity int
	at              time.Time
	key             ticketing.ResultRef
	stock           []ticketing.BatchRecord
	rate            ticketing.RateRecord
	wallets         []ticketing.LockedWallet
}

func keepSale(ctx context.Context, tx ticketing.Tx, s sold) error {
	orderID := number(1_000_000 + s.order)
	var entries []ledger.Entry
	var wallets []ticketing.WalletRecord
	for _, w := range s.wallets {
		head := ledger.Head{
			CompanyID: w.CompanyID, Wallet: w.Wallet, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
		}
		entry, head, err := head.Append(ledger.CommissionAccrual, 1, orderID.String(), s.at)
		if err != nil {
			return err
		}
		w.Sequence, w.Balance, w.Hash, w.LastAt = head.Sequence, head.Balance, head.Hash, head.At
		entries, wallets = append(entries, entry), append(wallets, w.WalletRecord)
	}
	admissions := make([]ticketing.AdmissionRecord, s.quantity)
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
		admissions[i] = ticketing.AdmissionRecord{
			CompanyID: company, OrderNumber: entries[0].Sequence, Line: i + 1, ID: number(2_000_000 + s.order*100 + i),
			LineID: number(3_000_000 + s.order*100 + i), OrderID: orderID, EventID: event.ID, Tier: "Regular", Batch: 1,
			Title: "Entry", UnitPrice: 500,
		}
	}
	order := ticketing.OrderRecord{
		CompanyID: company, Number: entries[0].Sequence, ID: orderID, EventID: event.ID,
		Status: ticketing.OrderConfirmed, Gross: 500, RateID: s.rate.ID, Branding: 1, BuyerEmail: "ada@example.com",
		ConfirmedAt: s.at, CreatedAt: s.at,
	}
	result := ticketing.ResultRecord{ResultRef: s.key, Digest: "v1", Subject: orderID, CreatedAt: s.at}
	fact := func(n int) ticketing.FactRecord {
		return ticketing.FactRecord{
			CompanyID: company, At: s.at, ID: number(4_000_000 + s.order*10 + n), Type: ticketing.FactOrderCreated,
			Subject: orderID,
		}
	}
	for _, write := range []func() error{
		func() error { return tx.UpdateBatches(ctx, s.stock) },
		func() error { return tx.AppendOrders(ctx, []ticketing.OrderRecord{order}) },
		func() error { return tx.AppendAdmissions(ctx, admissions) },
		func() error { return tx.AppendEntries(ctx, entries) },
		func() error { return tx.UpdateWallets(ctx, wallets) },
		func() error {
			return tx.PutBuyers(ctx, []ticketing.BuyerRecord{{
				CompanyID: company, Email: "ada@example.com", CreatedAt: s.at, UpdatedAt: s.at,
			}})
		},
		func() error { return tx.AppendFacts(ctx, []ticketing.FactRecord{fact(1), fact(2), fact(3)}) },
		func() error { return tx.AppendResults(ctx, []ticketing.ResultRecord{result}) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
