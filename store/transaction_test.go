package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

var errTransient = errors.New("a transient failure")

// TestTransientFailureRunsAgain checks that a transient failure runs fn again from the start, with its claims, and that
// nothing of the failed run is kept.
func TestTransientFailureRunsAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	key := driver.IdempotencyKey{CompanyID: company, Operation: "checkouts.create", Key: "k"}
	runs := 0
	err := s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		runs++
		inFlight, err := tx.Begin(ctx, driver.BeginOptions{Keys: []driver.IdempotencyKey{key}})
		is.NoErr(err)
		is.Equal(inFlight, []bool{false})
		names, err := tx.SecretNames(ctx)
		is.NoErr(err)
		is.Equal(len(names), 0)
		is.NoErr(tx.AppendSecretName(ctx, "name", minute(0)))
		if runs < 3 {
			return store.Transient(errTransient)
		}
		return nil
	})
	is.NoErr(err)
	is.Equal(runs, 3)
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(names, []string{"name"})
		return err
	}))
}

// TestTransientFailureThatStays checks that a failure that persists becomes ErrBusy after a bounded number of runs.
func TestTransientFailureThatStays(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	runs := 0
	err := update(t.Context(), s, func(context.Context, driver.Tx) error {
		runs++
		return store.Transient(errTransient)
	})
	is.True(errors.Is(err, driver.ErrBusy))
	is.True(errors.Is(err, errTransient))
	is.Equal(runs, 5)
}

// TestLeavingBetweenRuns checks that a caller who leaves between two runs is not kept waiting, and that the claims are
// released.
func TestLeavingBetweenRuns(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := update(ctx, s, func(context.Context, driver.Tx) error {
		cancel()
		return store.Transient(errTransient)
	})
	is.True(errors.Is(err, context.Canceled))
}

// TestLeavingDoesNotTear checks that a caller who leaves after the transaction has begun does not interrupt it.
func TestLeavingDoesNotTear(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	is.NoErr(update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := tx.AppendSecretName(ctx, "one", minute(0)); err != nil {
			return err
		}
		cancel()
		return tx.AppendSecretName(ctx, "two", minute(0))
	}))
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(names, []string{"one", "two"})
		return err
	}))
}

// TestStatementsAreReported checks that OnStatement is called for every statement with the name of its method and its
// error, and never with its SQL.
func TestStatementsAreReported(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var statements []store.Statement
	s := isOpen(t, &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		statements = append(statements, statement)
	}})
	furnish(t, s)
	statements = nil
	err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		if err := tx.AppendSecretName(ctx, "name", minute(0)); err != nil {
			return err
		}
		return tx.CreateCompany(ctx, newCompany(company))
	})
	var broken *driver.ConstraintError
	is.True(errors.As(err, &broken))
	is.True(!strings.Contains(err.Error(), "Lagos Live")) // no value of a statement
	names := make([]string, len(statements))
	for i, statement := range statements {
		names[i] = statement.Name
		is.Equal(errors.As(statement.Err, &broken), statement.Name == "CreateCompany")
	}
	is.Equal(names, []string{"begin", "AppendSecretName", "CreateCompany", "rollback"})
}

// TestTextsAreKeptOrRefused checks that a text that SQL cannot carry exactly is refused, not changed, and dooms the
// transaction.
func TestTextsAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80"} {
		is := is.New(t)
		s := isOpen(t, nil)
		err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
			is.True(tx.AppendSecretName(ctx, text, minute(0)) != nil)
			return nil
		})
		is.True(err != nil)
		is.True(!strings.Contains(err.Error(), text))
	}
}

// TestTextsAreValues checks that texts are values, whatever they contain: no quote, comment or question mark in them
// becomes SQL.
func TestTextsAreValues(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	texts := []string{
		"' OR 1 = 1 --", "?", "?0", "?name", `\?`, `\`, `''`, "\u2028", "'; DROP TABLE ticketing_outbox; --", "/*", "X'00'",
	}
	furnish(t, s)
	for i, text := range texts {
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.PutBuyers(ctx, []driver.Buyer{{
				CompanyID: company, Email: text, Fullname: text, Phone: text, CreatedAt: minute(i), UpdatedAt: minute(i),
			}})
		})
	}
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		refs := make([]driver.BuyerRef, len(texts))
		for i, text := range texts {
			refs[i] = driver.BuyerRef{CompanyID: company, Email: text}
		}
		buyers, err := tx.Buyers(ctx, refs)
		for i, text := range texts {
			is.Equal(buyers[i].Email, text)
			is.Equal(buyers[i].Fullname, text)
		}
		return err
	}))
}

// TestManyRecords checks that more records than one statement carries are split over several, and are returned in the
// order of the references.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var statements atomic.Int64
	s := isOpen(t, &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		if statement.Name == "PutBuyers" || statement.Name == "Buyers" {
			statements.Add(1)
		}
	}})
	buyers := make([]driver.Buyer, 2500)
	refs := make([]driver.BuyerRef, len(buyers))
	for i := range buyers {
		email := number(i).String()
		buyers[i] = driver.Buyer{
			CompanyID: company, Email: email, CreatedAt: minute(1), UpdatedAt: minute(2),
		}
		refs[len(refs)-1-i] = driver.BuyerRef{CompanyID: company, Email: email}
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
	is.Equal(statements.Swap(0), int64(3))
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.Buyers(ctx, refs)
		for i := range found {
			is.Equal(found[i].Email, refs[i].Email)
		}
		is.Equal(len(found), len(refs))
		return err
	}))
	is.Equal(statements.Load(), int64(3))
}

// TestLongOrderedLists checks that a list that has to stay in order goes into one statement, however long it is.
func TestLongOrderedLists(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	furnish(t, s, newBatch(1, 0))
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		queries := make([]driver.StockQuery, 3000)
		numbers := make([]driver.OrderNumber, len(queries))
		for i := range queries {
			queries[i] = driver.StockQuery{
				CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 3000, Quantity: 1,
			}
			queries[i].UnitPrice -= money.Amount(i)
			numbers[i] = driver.OrderNumber{CompanyID: company, Number: int64(i)}
		}
		stock, err := tx.LockStock(ctx, queries)
		is.NoErr(err)
		is.Equal(len(stock), 1)
		_, err = tx.OrderLines(ctx, numbers)
		return err
	})
}

// TestChangesToOneRecord checks that of several changes to one record in one call the last one counts, as in a sequence
// of calls.
func TestChangesToOneRecord(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	furnish(t, s, newBatch(1, 0))
	use := func(minutes int, digest string) driver.APIKeyUse {
		return driver.APIKeyUse{
			APIKeyRef: driver.APIKeyRef{CompanyID: company, ID: number(4)}, UsedAt: minute(minutes), Digest: digest,
		}
	}
	tier := driver.Tier{CompanyID: company, EventID: event.ID, Name: "Regular"}
	wallet := newWallet(ledger.Float, 1)
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		more, richer := tier, wallet
		more.Total, richer.Balance = 7, 9
		return errors.Join(
			tx.TouchAPIKeys(ctx, []driver.APIKeyUse{use(5, "a"), use(9, "b"), use(7, "c")}),
			tx.UpdateBatches(ctx, []driver.Batch{newBatch(1, 3), newBatch(1, 4)}),
			tx.UpdateTiers(ctx, []driver.Tier{tier, more}),
			tx.UpdateWallets(ctx, []driver.Wallet{wallet, richer}),
		)
	})
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		keys, err := tx.APIKeys(ctx, []driver.APIKeyRef{{CompanyID: company, ID: number(4)}})
		is.NoErr(err)
		is.Equal(keys[0].LastUsedAt, minute(9))
		is.Equal(keys[0].Digest, "b")
		tiers, err := tx.CountTiers(ctx, event, nil)
		is.NoErr(err)
		is.Equal(tiers[0].Total, int64(7))
		is.Equal(tiers[0].Available, int64(996))
		wallets, err := tx.Wallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Float}})
		is.NoErr(err)
		is.Equal(wallets[0].Balance, money.Amount(9))
		return nil
	}))
}

// TestUpdatesQueue checks that the Updates of one process run one at a time, and that none is lost.
func TestUpdatesQueue(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 5 {
				if err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
					names, err := tx.SecretNames(ctx)
					if err != nil {
						return err
					}
					return tx.AppendSecretName(ctx, number(len(names)).String(), minute(0))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(len(names), 320)
		return err
	}))
}

// TestWaitsBetweenRunsDiffer checks that the waits between runs differ between Updates, so that two which conflicted do
// not collide again. Each wait is longer than the last, and jitter makes it up to twice as long.
func TestWaitsBetweenRunsDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := isOpen(t, nil)
		const updates = 8
		first := make(map[time.Duration]bool)
		for range updates {
			var runs []time.Time
			err := update(t.Context(), s, func(context.Context, driver.Tx) error {
				runs = append(runs, time.Now())
				return store.Transient(errTransient)
			})
			is.True(errors.Is(err, driver.ErrBusy))
			for n := 1; n < len(runs); n++ {
				wait, least := runs[n].Sub(runs[n-1]), time.Millisecond<<n
				is.True(wait >= least)
				is.True(wait < 2*least)
			}
			first[runs[1].Sub(runs[0])] = true
		}
		is.True(len(first) > 1)
	})
}
