package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/floatgate/ticketing"
)

// broken is a store with one fault, and the check that has to find it.
type broken struct {
	name, fails string
	breaks      func(ticketing.Store) ticketing.Store
}

func brokenStores() []broken {
	return slices.Concat(brokenTransactions(), brokenReads(), brokenWrites(), brokenHooks())
}

type (
	updateFn = func(ctx context.Context, tx ticketing.Tx) error
	readFn   = func(ctx context.Context, tx ticketing.ReadTx) error
)

// altered is a store of which some methods are other ones.
type altered struct {
	ticketing.Store

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

// updating breaks Update.
func updating(
	update func(s ticketing.Store, ctx context.Context, fn updateFn) error,
) func(ticketing.Store) ticketing.Store {
	return func(s ticketing.Store) ticketing.Store {
		return altered{Store: s, update: func(ctx context.Context, fn updateFn) error { return update(s, ctx, fn) }}
	}
}

// writing breaks the transactions of Update.
func writing(tx func(ticketing.Tx) ticketing.Tx) func(ticketing.Store) ticketing.Store {
	return updating(func(s ticketing.Store, ctx context.Context, fn updateFn) error {
		return s.Update(ctx, func(ctx context.Context, inner ticketing.Tx) error { return fn(ctx, tx(inner)) })
	})
}

// reading breaks the transactions of View and Snapshot.
func reading(tx func(ticketing.ReadTx) ticketing.ReadTx) func(ticketing.Store) ticketing.Store {
	return func(s ticketing.Store) ticketing.Store {
		through := func(begin func(context.Context, readFn) error) func(context.Context, readFn) error {
			return func(ctx context.Context, fn readFn) error {
				return begin(ctx, func(ctx context.Context, inner ticketing.ReadTx) error { return fn(ctx, tx(inner)) })
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
		{"forgives a swallowed error", "transaction/a swallowed error dooms it", writing(func(tx ticketing.Tx) ticketing.Tx {
			return forgiving{tx}
		})},
		{"ignores a cancelled context", "ending/a cancelled context begins nothing", updating(uncancelled)},
		{"answers after the end", "ending/calls on a finished transaction fail", answersAfterEnd},
		{"shows what is not committed", "isolation/readers never see what is not committed", showsUncommitted},
		{"takes a View for a Snapshot", "isolation/Snapshot sees one moment", func(s ticketing.Store) ticketing.Store {
			return altered{Store: s, snapshot: s.View}
		}},
		{"takes a Snapshot for a View", "isolation/View sees commits between its calls", func(s ticketing.Store) ticketing.Store {
			return altered{Store: s, view: s.Snapshot}
		}},
		{"forgets claims", "claims/all in flight answers at once and begins nothing", writing(func(tx ticketing.Tx) ticketing.Tx {
			return unclaiming{tx}
		})},
		{"never lets a claim go", "claims/a key ends with its Update, whatever its end", keepsClaims},
		{"begins nothing when one of two is in flight", "claims/partly in flight goes on", writing(func(tx ticketing.Tx) ticketing.Tx {
			return allOrNone{tx}
		})},
	}
}

func keepsOnError(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var failed error
	err := s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		failed = fn(ctx, tx)
		return nil
	})
	return errors.Join(err, failed)
}

func keepsOnPanic(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var thrown any
	err := s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		defer func() { thrown = recover() }()
		return fn(ctx, tx)
	})
	if thrown != nil {
		panic(thrown)
	}
	return err
}

func recovers(s ticketing.Store, ctx context.Context, fn updateFn) (err error) { //nolint:revive // Like a method.
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	return s.Update(ctx, fn)
}

func wraps(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	if err := s.Update(ctx, fn); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}

// runsTwice runs fn again as if it had to, without taking the first run back.
func runsTwice(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	if err := keepsOnError(s, ctx, fn); err != nil {
		return err
	}
	return s.Update(ctx, fn)
}

func uncancelled(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	return s.Update(context.WithoutCancel(ctx), fn)
}

// forgiving fails a change of what is missing and goes on.
type forgiving struct{ ticketing.Tx }

func (f forgiving) UpdateCategory(ctx context.Context, category ticketing.CategoryRecord) error {
	list, err := f.ListCategories(ctx, "", 100)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(c ticketing.CategoryRecord) bool { return c.ID == category.ID }) {
		return ticketing.ErrNotFound
	}
	return f.Tx.UpdateCategory(ctx, category)
}

type lasting struct {
	ticketing.ReadTx

	store ticketing.Store
}

func (l lasting) SecretNames(ctx context.Context) (names []string, err error) {
	err = l.store.View(ctx, func(ctx context.Context, tx ticketing.ReadTx) error {
		names, err = tx.SecretNames(ctx)
		return err
	})
	return names, err
}

func answersAfterEnd(s ticketing.Store) ticketing.Store {
	return reading(func(tx ticketing.ReadTx) ticketing.ReadTx { return lasting{tx, s} })(s)
}

// showsUncommitted lets readers at the transaction of the writer that is open.
func showsUncommitted(s ticketing.Store) ticketing.Store {
	var mu sync.Mutex
	var open ticketing.Tx
	set := func(tx ticketing.Tx) {
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
			return s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
				set(tx)
				defer set(nil)
				return fn(ctx, tx)
			})
		},
	}
}

// unclaiming enters without the claims.
type unclaiming struct{ ticketing.Tx }

func (u unclaiming) Enter(ctx context.Context, in ticketing.Entrance) ([]bool, error) {
	free := make([]bool, len(in.Claim))
	in.Claim = nil
	_, err := u.Tx.Enter(ctx, in)
	return free, err
}

// allOrNone takes some in flight for all in flight.
type allOrNone struct{ ticketing.Tx }

func (a allOrNone) Enter(ctx context.Context, in ticketing.Entrance) ([]bool, error) {
	inFlight, err := a.Tx.Enter(ctx, in)
	if slices.Contains(inFlight, true) {
		return slices.Repeat([]bool{true}, len(inFlight)), err
	}
	return inFlight, err
}

// hoarding keeps every key it has ever claimed.
type hoarding struct {
	ticketing.Tx

	seen map[ticketing.ResultRef]bool
}

func keepsClaims(s ticketing.Store) ticketing.Store {
	seen := make(map[ticketing.ResultRef]bool)
	return writing(func(tx ticketing.Tx) ticketing.Tx { return hoarding{tx, seen} })(s)
}

func (h hoarding) Enter(ctx context.Context, in ticketing.Entrance) ([]bool, error) {
	inFlight, err := h.Tx.Enter(ctx, in)
	for i, ref := range in.Claim {
		inFlight[i] = inFlight[i] || h.seen[ref]
		h.seen[ref] = true
	}
	return inFlight, err
}
