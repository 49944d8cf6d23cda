package store_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// countMerged counts the merged writes that the connection of a pool keeps prepared.
func countMerged(tb testing.TB, pool *sql.DB) (count int) {
	tb.Helper()
	for _, statement := range bound(tb, pool) {
		if strings.HasPrefix(statement, "WITH w0") {
			count++
		}
	}
	return count
}

// TestWhatIsMerged checks which statements of a sale are sent as one, and that locks of rows are never one with locks
// that come before them: they would miss rows that were written during the wait, and one limit would bound both waits.
func TestWhatIsMerged(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	stock := []driver.StockQuery{{CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 1}}
	for order := range 3 {
		sell(t, s, order+1)
		for _, locks := range []*driver.SaleLocks{nil, {Stock: stock, Wallets: driver.WalletRefs(company)}} {
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{
					Shared: []uuid.UUID{company}, Keys: claim("key"), Locks: locks,
				})
				if err == nil {
					_, _, err = tx.(driver.SaleLocker).LockSale(ctx, stock, driver.WalletRefs(company))
				}
				return err
			}))
		}
	}
	here := 0
	if copiesHere() {
		here = 1
	}
	count := func(parts ...string) (statements int) {
		for _, statement := range bound(t, pool) {
			has := func(part string) bool { return strings.Contains(statement, part) }
			if !slices.ContainsFunc(parts, func(part string) bool { return !has(part) }) {
				statements++
			}
		}
		return statements
	}
	is.Equal(count("set_config('lock_timeout'", "pg_advisory_xact_lock_shared", "pg_try_advisory_xact_lock"), here)
	is.Equal(count("count(1)", "FOR NO KEY UPDATE"), 4*here) // Tiers and wallets, by themselves and under a claim.
	is.Equal(count("ticketing_inventory_tiers", "ticketing_wallets", "FOR NO KEY UPDATE"), 0)
	is.Equal(count("pg_advisory_xact_lock_shared", "count(1)"), 0)
	is.Equal(count("set_config(", "ticketing_"), 0)                        // It is parsed before the search path is set.
	is.Equal(count("WITH w0", "ticketing_orders", "ticketing_wallets"), 0) // COPY is between them.
	is.Equal(count("WITH w0"), 2*here)
}

// TestMergedWritesCount checks that a merged write which does not change all its rows changes nothing at all, wherever
// it stands among the others, and that two writes to one table are done one after the other.
func TestMergedWritesCount(t *testing.T) {
	t.Parallel()
	s, pool := openOnOneConnection(t)
	float := driver.WalletRef{CompanyID: company, Wallet: ledger.Float}
	batch := newBatch(1, 0)
	batch.Quantity = 100
	absent := batch
	absent.Position = 9
	buyer := driver.Buyer{CompanyID: company, Email: "ada@example.com", CreatedAt: minute(1), UpdatedAt: minute(1)}
	write := func(sequence int64, batches []driver.Batch, wallets ...driver.Wallet) error {
		return s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("key")})
			if err != nil {
				return err
			}
			for i := range wallets {
				wallets[i].Sequence = sequence + int64(i)
				err = errors.Join(err, tx.UpdateWallets(ctx, wallets[i:i+1]))
			}
			return errors.Join(err, tx.UpdateBatches(ctx, batches), tx.PutBuyers(ctx, []driver.Buyer{buyer}))
		})
	}
	read := func(t *testing.T) (sequence, sold int64) {
		t.Helper()
		is.New(t).NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			wallets, err := tx.Wallets(ctx, []driver.WalletRef{float})
			if err != nil {
				return err
			}
			batches, err := tx.ListBatches(ctx, event, 9)
			sequence, sold = wallets[0].Sequence, batches[0].Sold
			return err
		}))
		return sequence, sold
	}
	wallet, other := newWallet(ledger.Float, 100), newWallet(ledger.Float, 100)
	unknown := wallet
	unknown.CompanyID = number(99)
	var merged []int
	for n := range int64(5) { // The first are simple messages.
		is := is.New(t)
		batch.Sold = n
		is.NoErr(write(10*n+10, []driver.Batch{batch}, wallet, other)) // twice the same wallet
		sequence, sold := read(t)
		is.Equal(sequence, 10*n+11) // The second write counts.
		is.Equal(sold, n)
		failing := batch
		failing.Sold = 50
		for _, refused := range []error{
			write(90, []driver.Batch{failing, absent}, wallet), write(90, []driver.Batch{failing}, unknown),
		} {
			is.True(errors.Is(refused, driver.ErrNotFound))
		}
		again, _ := read(t)
		is.Equal(again, sequence)
		merged = append(merged, countMerged(t, pool))
	}
	is := is.New(t)
	is.Equal(merged[3], merged[4]) // What fails is not prepared again.
	is.Equal(merged[4] > 0, copiesHere())
}

// TestMergedWritesAreFew checks that a connection prepares a limited number of combinations of writes, and that the
// others are written all the same.
func TestMergedWritesAreFew(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	batch := newBatch(1, 0)
	batch.Quantity = 100
	buyers := []driver.Buyer{{CompanyID: company, Email: "a", CreatedAt: minute(1), UpdatedAt: minute(1)}}
	wallet, other := newWallet(ledger.Float, 100), newWallet(ledger.Earnings, 0)
	writes := []func(ctx context.Context, tx driver.Tx, n int) error{
		func(ctx context.Context, tx driver.Tx, _ int) error {
			return tx.UpdateBatches(ctx, []driver.Batch{batch})
		},
		func(ctx context.Context, tx driver.Tx, _ int) error {
			return tx.UpdateWallets(ctx, []driver.Wallet{wallet})
		},
		func(ctx context.Context, tx driver.Tx, _ int) error { return tx.PutBuyers(ctx, buyers) },
		func(ctx context.Context, tx driver.Tx, n int) error {
			return tx.AppendResults(ctx, []driver.IdempotencyResult{{
				IdempotencyKey: driver.IdempotencyKey{CompanyID: company, Operation: "o", Key: string(rune('a' + n))},
				Digest:         "d", CreatedAt: minute(0),
			}})
		},
		func(ctx context.Context, tx driver.Tx, _ int) error {
			return tx.UpdateWallets(ctx, []driver.Wallet{wallet, other})
		},
	}
	const rounds = 3
	n, kept := 0, 0
	for range rounds {
		for order := range len(writes) * len(writes) * len(writes) {
			n++
			chosen := []int{order % len(writes), order / len(writes) % len(writes), order / len(writes) / len(writes)}
			if len(slices.Compact(slices.Sorted(slices.Values(chosen)))) < len(chosen) {
				continue
			}
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("key")})
				for _, i := range chosen {
					err = errors.Join(err, writes[i](ctx, tx, n))
				}
				return err
			}))
			if slices.Contains(chosen, 3) {
				kept++
			}
		}
	}
	if copiesHere() {
		is.Equal(countMerged(t, pool), store.MaxMerged)
	}
	var results int
	is.NoErr(pool.QueryRowContext(t.Context(),
		"SELECT count(*) FROM ticketing_idempotency_keys WHERE operation = 'o'").Scan(&results))
	is.Equal(results, kept)
}

// TestAllReadOnlyConnectionsAreGivenUp checks that one transaction finds a connection which may write behind as many as
// lead to a former primary, whatever it begins with.
func TestAllReadOnlyConnectionsAreGivenUp(t *testing.T) {
	t.Parallel()
	const connections = 12
	for name, begin := range map[string]driver.BeginOptions{
		"shared":    {Shared: []uuid.UUID{company}},
		"exclusive": {Exclusive: []uuid.UUID{company}},
		"claims":    {Keys: claim("key")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := testdb.Open(t, testdb.DSN(t), &store.Config{Connections: connections})
			furnish(t, s)
			held := make([]*sql.Conn, connections)
			for i := range held {
				conn, err := s.Pool().Conn(t.Context())
				is.NoErr(err)
				_, err = conn.ExecContext(t.Context(), "SET default_transaction_read_only TO on")
				is.NoErr(err)
				held[i] = conn
			}
			for _, conn := range held {
				is.NoErr(conn.Close())
			}
			runs := 0
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				runs++
				_, err := tx.Begin(ctx, begin)
				return errors.Join(err, tx.UpdateWallets(ctx, []driver.Wallet{newWallet(ledger.Float, 100)}))
			}))
			is.Equal(runs, 1)
		})
	}
}
