package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// TestJoinedReads checks that PostgreSQL returns every value as it was written, as a field of a record.
func TestJoinedReads(t *testing.T) {
	t.Parallel()
	s := testdb.Open(t, testdb.DSN(t), nil)
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.Custom(func(t *rapid.T) store.Record {
			r := store.Record{
				Text: anyTexts().Draw(t, "text"), ID: uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
				Number: rapid.Int64().Draw(t, "number"), Count: rapid.Int().Draw(t, "count"), Flag: rapid.Bool().Draw(t, "flag"),
			}
			if rapid.Bool().Draw(t, "bytes") {
				r.Bytes = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
			}
			copy(r.Hash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
			if rapid.Bool().Draw(t, "present") {
				r.Missing = anyTexts().Draw(t, "text or none")
			}
			r.Grants = rapid.SliceOfN(rapid.SampledFrom(ticketing.AllGrants()), 1, 3).Draw(t, "grants")
			if rapid.Bool().Draw(t, "time") {
				r.At = time.UnixMilli(rapid.Int64Range(-1<<45, 1<<45).Draw(t, "time")).UTC()
			}
			return r
		})
		written := rapid.SliceOfN(rapid.SliceOfN(record, 1, 3), 1, 4).Draw(t, "records")
		read, err := s.ReadJoined(t.Context(), written)
		if err != nil {
			t.Fatal(err)
		}
		is.New(t).Equal(read, written)
	})
}

// FuzzRecord reads any bytes as rows of records. It never panics, and bytes that end within a row are an error.
func FuzzRecord(f *testing.F) {
	row := func(fields ...string) string {
		return "\x00\x00\x00" + string(rune(len(fields))) + strings.Join(fields, "")
	}
	text, null := "\x00\x00\x00\x19\x00\x00\x00\x02ab", "\x00\x00\x00\x19\xff\xff\xff\xff"
	for _, records := range []string{
		"", row(), row(text), row(text, null), row(text) + row(text, text), "\xff\xff\xff\xff",
	} {
		f.Add([]byte(records), 1)
	}
	f.Fuzz(func(t *testing.T, records []byte, cut int) {
		_, err := store.ScanRecords(records)
		whole := err == nil || !strings.Contains(err.Error(), "not whole")
		if cut < 1 || cut >= 4 || len(records) < 4 || !whole {
			return
		}
		// Fewer than four bytes are no row.
		if _, err := store.ScanRecords(append(slices.Clip(records), records[:cut]...)); err == nil {
			t.Fatalf("a row of %d bytes was read", cut)
		}
	})
}

// TestMessages checks how many messages the operations of a company's rush send to PostgreSQL, since each costs a round
// trip.
func TestMessages(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var sent []string
	s := testdb.Open(t, testdb.DSN(t), &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		sent = append(sent, statement.Name)
	}})
	furnish(t, s, newBatch(1, 0))
	wallets := driver.WalletRefs(company)
	terms := []driver.SaleTermsRef{{EventRef: event, BrandingVersion: 1}}
	keys := []driver.IdempotencyKey{{CompanyID: company, Operation: "o", Key: "k"}}
	read := func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Companies(ctx, []uuid.UUID{company})
		if err == nil {
			_, err = tx.Results(ctx, keys)
		}
		if err == nil {
			_, err = tx.SaleTerms(ctx, terms, minute(0))
		}
		return err
	}
	in := driver.BeginOptions{
		Shared: []uuid.UUID{company}, Keys: keys,
		Reads: func(ctx context.Context, tx driver.Tx) { _ = read(ctx, tx) },
	}
	sent = nil
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, in); err != nil {
			return err
		}
		if err := read(ctx, tx); err != nil {
			return err
		}
		batches, locked, err := tx.(driver.SaleLocker).LockSale(ctx,
			[]driver.StockQuery{{CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 1}}, wallets)
		if err != nil {
			return err
		}
		is.Equal(len(batches), 1)
		is.Equal(len(locked), 2)
		return tx.AppendResults(ctx, []driver.IdempotencyResult{{IdempotencyKey: keys[0], Digest: "d", CreatedAt: minute(0)}})
	}))
	is.Equal(sent, []string{"begin", "LockStock", "commit"})

	sent = nil
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		tx.(driver.Announcer).Announce(ctx, func(ctx context.Context, tx driver.ReadTx) {
			_, _ = tx.Companies(ctx, []uuid.UUID{company})
		})
		_, _, err := tx.(driver.LineReader).ListOrdersWithLines(ctx, driver.OrderQuery{CompanyID: company, Limit: 9})
		if err == nil {
			_, err = tx.Companies(ctx, []uuid.UUID{company})
		}
		return err
	}))
	is.Equal(sent, []string{"ListOrders"})
}

// TestAnnouncedReadsAreThoseAsked checks that only a call which asks the same gets what was announced: not one with
// other references or at another time, also if the references were changed where they are.
func TestAnnouncedReadsAreThoseAsked(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Open(t, testdb.DSN(t), nil)
	furnish(t, s, newBatch(1, 0))
	later, err := money.ParseRate("300", money.BasisPoints)
	is.NoErr(err)
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}})
		return errors.Join(err, tx.CreateAPIKey(ctx, driver.APIKey{
			CompanyID: company, ID: number(5), Name: "gate", Status: driver.APIKeyActive, Digest: "v2", CreatedAt: minute(0),
		}), tx.AppendRate(ctx, driver.Rate{
			CompanyID: company, ID: number(6), Position: 2, Rate: later, EffectiveFrom: minute(9), CreatedAt: minute(0),
		}))
	}))
	shop, gate := driver.APIKeyRef{CompanyID: company, ID: number(4)}, driver.APIKeyRef{CompanyID: company, ID: number(5)}
	terms := []driver.SaleTermsRef{{EventRef: event, BrandingVersion: 1}}
	refs := []driver.APIKeyRef{shop}
	names := func(ctx context.Context, tx driver.Tx) string {
		keys, err := tx.APIKeys(ctx, refs)
		is.NoErr(err)
		all := make([]string, len(keys))
		for i, key := range keys {
			all[i] = key.Name
		}
		return strings.Join(all, " ")
	}
	position := func(ctx context.Context, tx driver.Tx, at time.Time) int {
		found, err := tx.SaleTerms(ctx, terms, at)
		is.NoErr(err)
		return int(found[0].Rate.Position)
	}
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Begin(ctx, driver.BeginOptions{
			Shared: []uuid.UUID{company},
			Reads: func(ctx context.Context, tx driver.Tx) {
				_, _ = tx.APIKeys(ctx, refs)
				_, _ = tx.SaleTerms(ctx, terms, minute(5))
			},
		})
		is.NoErr(err)
		is.Equal(position(ctx, tx, minute(10)), 2)
		is.Equal(position(ctx, tx, minute(5)), 1)
		refs[0] = gate
		is.Equal(names(ctx, tx), "gate")
		refs[0] = shop
		is.Equal(names(ctx, tx), "shop")
		refs = []driver.APIKeyRef{gate, shop}
		is.Equal(names(ctx, tx), "gate shop")
		return nil
	}))
}

// TestAnnouncedLocks checks that the locks of a sale which came with the message that began its transaction exclude
// other transactions, that what is read under them is what was committed before they were granted, and that a call in
// flight elsewhere waits for none of them.
func TestAnnouncedLocks(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	dsn := testdb.DSN(t)
	var sent []string
	first := testdb.Open(t, dsn, nil)
	other := testdb.Open(t, dsn, &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		sent = append(sent, statement.Name)
	}})
	furnish(t, first, newBatch(1, 0))
	locks := driver.SaleLocks{
		Stock: []driver.StockQuery{{
			CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 1,
		}},
		Wallets: driver.WalletRefs(company),
	}
	begin := func(key string, patience time.Duration) driver.BeginOptions {
		return driver.BeginOptions{
			Shared: []uuid.UUID{company}, Locks: &locks, LockTimeout: patience,
			Keys: []driver.IdempotencyKey{{CompanyID: company, Operation: "checkouts.create", Key: key}},
		}
	}
	// sell sells one admission of the batch, and returns how many were sold before.
	sell := func(ctx context.Context, tx driver.Tx) (before int64, err error) {
		batches, wallets, err := tx.(driver.SaleLocker).LockSale(ctx, locks.Stock, locks.Wallets)
		if err != nil {
			return 0, err
		}
		before = batches[0].Sold
		batches[0].Sold++
		wallets[0].Balance += 5
		if int64(wallets[0].Balance) != 5*batches[0].Sold {
			return 0, fmt.Errorf("a balance of %d after %d sales", wallets[0].Balance, batches[0].Sold)
		}
		return before, errors.Join(tx.UpdateBatches(ctx, batches), tx.UpdateWallets(ctx, []driver.Wallet{wallets[0].Wallet}))
	}
	const little = 50 * time.Millisecond
	waited := make(chan error, 1)
	var before int64
	ctx := t.Context()
	is.NoErr(first.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		inFlight, err := tx.Begin(ctx, begin("first", 0))
		is.NoErr(err)
		is.Equal(inFlight, []bool{false})
		// They are held although LockSale was not called yet.
		err = other.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, begin("other", little))
			return err
		})
		is.True(errors.Is(err, driver.ErrBusy))
		// The same key waits for no lock.
		is.NoErr(other.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			inFlight, err := tx.Begin(ctx, begin("first", little))
			is.Equal(inFlight, []bool{true})
			return err
		}))
		sent = nil
		go func() {
			waited <- other.Update(ctx, func(ctx context.Context, tx driver.Tx) (err error) {
				if _, err = tx.Begin(ctx, begin("other", 0)); err == nil {
					before, err = sell(ctx, tx)
				}
				return err
			})
		}()
		until(t, first.Pool(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		_, err = sell(ctx, tx)
		return err
	}))
	is.NoErr(<-waited)
	is.Equal(before, int64(1))
	is.Equal(sent, []string{"begin", "commit"})
}
