package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/floatgate/ticketing/driver"
)

// broken is a store with one fault, and the check that must find it.
type broken struct {
	name, fails string
	breaks      func(driver.Store) driver.Store
}

func brokenStores() []broken {
	return slices.Concat(brokenTransactions(), brokenReads(), brokenWrites(), brokenHooks(), brokenMail(),
		brokenAccounts(), brokenPlatform(), brokenSales(), brokenFinds())
}

type (
	updateFn = func(ctx context.Context, tx driver.Tx) error
	readFn   = func(ctx context.Context, tx driver.ReadTx) error
)

// altered is a store with some of its methods replaced.
type altered struct {
	driver.Store

	view, snapshot func(ctx context.Context, fn readFn) error
	update         func(ctx context.Context, fn updateFn) error
}

func (a altered) View(ctx context.Context, fn readFn) error {
	if a.view == nil {
		return a.Store.View(ctx, fn)
	}
	return a.view(ctx, fn)
}

func (a altered) Snapshot(ctx context.Context, fn readFn) error {
	if a.snapshot == nil {
		return a.Store.Snapshot(ctx, fn)
	}
	return a.snapshot(ctx, fn)
}

func (a altered) Update(ctx context.Context, fn updateFn) error {
	if a.update == nil {
		return a.Store.Update(ctx, fn)
	}
	return a.update(ctx, fn)
}

// updating replaces Update.
func updating(
	update func(s driver.Store, ctx context.Context, fn updateFn) error,
) func(driver.Store) driver.Store {
	return func(s driver.Store) driver.Store {
		return altered{Store: s, update: func(ctx context.Context, fn updateFn) error { return update(s, ctx, fn) }}
	}
}

// writing wraps the transactions of Update.
func writing(tx func(driver.Tx) driver.Tx) func(driver.Store) driver.Store {
	return updating(func(s driver.Store, ctx context.Context, fn updateFn) error {
		return s.Update(ctx, func(ctx context.Context, inner driver.Tx) error { return fn(ctx, tx(inner)) })
	})
}

// reading wraps the transactions of View and Snapshot.
func reading(tx func(driver.ReadTx) driver.ReadTx) func(driver.Store) driver.Store {
	return func(s driver.Store) driver.Store {
		through := func(begin func(context.Context, readFn) error) func(context.Context, readFn) error {
			return func(ctx context.Context, fn readFn) error {
				return begin(ctx, func(ctx context.Context, inner driver.ReadTx) error { return fn(ctx, tx(inner)) })
			}
		}
		return altered{Store: s, view: through(s.View), snapshot: through(s.Snapshot)}
	}
}

func brokenTransactions() []broken {
	return []broken{
		{"keeps writes on error", "transaction/an error keeps nothing", updating(keepsOnError)},
		{"keeps writes on panic", "transaction/a panic goes on and keeps nothing", updating(keepsOnPanic)},
		{"makes an error of a panic", "transaction/a panic goes on and keeps nothing", updating(recovers)},
		{"wraps the error of fn", "transaction/an error of fn comes back as it is", updating(wraps)},
		{"runs fn once more in vain", "transaction/fn runs again from the start", updating(runsTwice)},
		{"forgives a swallowed error", "transaction/a swallowed error dooms it", writing(func(tx driver.Tx) driver.Tx {
			return forgiving{tx}
		})},
		{"ignores a cancelled context", "ending/a cancelled context begins nothing", updating(uncancelled)},
		{"answers after the end", "ending/calls on a finished transaction fail", answersAfterEnd},
		{"shows what is not committed", "isolation/readers never see what is not committed", showsUncommitted},
		{"takes a View for a Snapshot", "isolation/Snapshot sees one moment", func(s driver.Store) driver.Store {
			return altered{Store: s, snapshot: s.View}
		}},
		{"takes a Snapshot for a View", "isolation/View sees commits between its calls", func(s driver.Store) driver.Store {
			return altered{Store: s, view: s.Snapshot}
		}},
		{"forgets claims", "claims/all in flight answers at once and begins nothing", writing(func(tx driver.Tx) driver.Tx {
			return unclaiming{tx}
		})},
		{"never lets a claim go", "claims/a key ends with its Update, whatever its end", keepsClaims},
		{
			"begins nothing when one of two is in flight", "claims/partly in flight goes on",
			writing(func(tx driver.Tx) driver.Tx { return allOrNone{tx} }),
		},
	}
}

func keepsOnError(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var failed error
	err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		failed = fn(ctx, tx)
		return nil
	})
	return errors.Join(err, failed)
}

func keepsOnPanic(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var thrown any
	err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		defer func() { thrown = recover() }()
		return fn(ctx, tx)
	})
	if thrown != nil {
		panic(thrown)
	}
	return err
}

func recovers(s driver.Store, ctx context.Context, fn updateFn) (err error) { //nolint:revive // Like a method.
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	return s.Update(ctx, fn)
}

func wraps(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	if err := s.Update(ctx, fn); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}

// runsTwice commits a run of fn, and then runs it again as if after a transient failure.
func runsTwice(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	if err := keepsOnError(s, ctx, fn); err != nil {
		return err
	}
	return s.Update(ctx, fn)
}

func uncancelled(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	return s.Update(context.WithoutCancel(ctx), fn)
}

// forgiving fails to change a missing record, but commits.
type forgiving struct{ driver.Tx }

func (f forgiving) UpdateCategory(ctx context.Context, category driver.Category) error {
	list, err := f.ListCategories(ctx, "", 100)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(c driver.Category) bool { return c.ID == category.ID }) {
		return driver.ErrNotFound
	}
	return f.Tx.UpdateCategory(ctx, category)
}

type lasting struct {
	driver.ReadTx

	store driver.Store
}

func (l lasting) SecretNames(ctx context.Context) (names []string, err error) {
	err = l.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		names, err = tx.SecretNames(ctx)
		return err
	})
	return names, err
}

func answersAfterEnd(s driver.Store) driver.Store {
	return reading(func(tx driver.ReadTx) driver.ReadTx { return lasting{tx, s} })(s)
}

// showsUncommitted lets readers use the open transaction of the writer.
func showsUncommitted(s driver.Store) driver.Store {
	var mu sync.Mutex
	var open driver.Tx
	set := func(tx driver.Tx) {
		mu.Lock()
		defer mu.Unlock()
		open = tx
	}
	dirty := func(begin func(context.Context, readFn) error) func(context.Context, readFn) error {
		return func(ctx context.Context, fn readFn) error {
			mu.Lock()
			tx := open
			mu.Unlock()
			if tx != nil {
				return fn(ctx, tx)
			}
			return begin(ctx, fn)
		}
	}
	return altered{
		Store: s, view: dirty(s.View), snapshot: dirty(s.Snapshot),
		update: func(ctx context.Context, fn updateFn) error {
			return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				set(tx)
				defer set(nil)
				return fn(ctx, tx)
			})
		},
	}
}

// unclaiming begins an Update without its claims.
type unclaiming struct{ driver.Tx }

func (u unclaiming) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	free := make([]bool, len(in.Keys))
	in.Keys = nil
	_, err := u.Tx.Begin(ctx, in)
	return free, err
}

// allOrNone reports all claims in flight if some are.
type allOrNone struct{ driver.Tx }

func (a allOrNone) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	inFlight, err := a.Tx.Begin(ctx, in)
	if slices.Contains(inFlight, true) {
		return slices.Repeat([]bool{true}, len(inFlight)), err
	}
	return inFlight, err
}

// hoarding never releases a key that it claimed.
type hoarding struct {
	driver.Tx

	seen map[driver.IdempotencyKey]bool
}

func keepsClaims(s driver.Store) driver.Store {
	seen := make(map[driver.IdempotencyKey]bool)
	return writing(func(tx driver.Tx) driver.Tx { return hoarding{tx, seen} })(s)
}

func (h hoarding) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	inFlight, err := h.Tx.Begin(ctx, in)
	for i, ref := range in.Keys {
		inFlight[i] = inFlight[i] || h.seen[ref]
		h.seen[ref] = true
	}
	return inFlight, err
}
