package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

func transactionChecks() []Check {
	return []Check{
		{"transaction/an error of fn comes back as it is", errorComesBack},
		{"transaction/an error keeps nothing", errorKeepsNothing},
		{"transaction/a panic goes on and keeps nothing", panicKeepsNothing},
		{"transaction/a swallowed error dooms it", swallowedErrorDooms},
		{"transaction/an error after a broken constraint keeps nothing", constraintKeepsNothing},
		{"transaction/fn runs again from the start", runsAgain},
		{"transaction/readers get the error of fn as it is", readersErrorComesBack},
	}
}

var errOwn = errors.New("storetest: an error of fn")

func errorComesBack(ctx context.Context, s driver.Store) error {
	wrapped := fmt.Errorf("wrapped: %w", errOwn)
	for _, own := range []error{errOwn, wrapped, driver.ErrNotFound, context.Canceled} {
		err := s.Update(ctx, func(context.Context, driver.Tx) error { return own })
		if err != own { //nolint:errorlint // The promise is identity.
			return fmt.Errorf("before Begin: got %w, want the very error of fn, %w", orNone(err), own)
		}
		err = update(ctx, s, func(context.Context, driver.Tx) error { return own })
		if err != own { //nolint:errorlint // As above.
			return fmt.Errorf("after Begin: got %w, want the very error of fn, %w", orNone(err), own)
		}
		err = update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			if err := tx.CreateCategory(ctx, newCategory(id(10), "slug")); err != nil {
				return err
			}
			return own
		})
		if err != own { //nolint:errorlint // As above.
			return fmt.Errorf("after a write: got %w, want the very error of fn, %w", orNone(err), own)
		}
	}
	return nil
}

func readersErrorComesBack(ctx context.Context, s driver.Store) error {
	fails := func(context.Context, driver.ReadTx) error { return errOwn }
	if err := s.View(ctx, fails); err != errOwn { //nolint:errorlint // The promise is identity.
		return fmt.Errorf("in a View: got %w, want the very error of fn", orNone(err))
	}
	if err := s.Snapshot(ctx, fails); err != errOwn { //nolint:errorlint // As above.
		return fmt.Errorf("in a Snapshot: got %w, want the very error of fn", orNone(err))
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("read after a View and a Snapshot failed", []string(nil)).from(tx.SecretNames(ctx))
	})
}

func errorKeepsNothing(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := groundIn(ctx, tx); err != nil {
			return err
		}
		return errOwn
	})
	if !errors.Is(err, errOwn) {
		return fmt.Errorf("got %w, want the error of fn", orNone(err))
	}
	return nothingKept(ctx, s)
}

func panicKeepsNothing(ctx context.Context, s driver.Store) error {
	type thrown struct{ n int }
	value := &thrown{7}
	caught := func() (caught any) {
		defer func() { caught = recover() }()
		_ = update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			if err := groundIn(ctx, tx); err != nil {
				return err
			}
			panic(value)
		})
		return nil
	}()
	if caught != value {
		return fmt.Errorf("got %v, want the value fn panicked with", caught)
	}
	return nothingKept(ctx, s)
}

// groundIn writes a few records of each kind that ground creates.
func groundIn(ctx context.Context, tx driver.Tx) error {
	return steps(
		func() error { return tx.CreateCategory(ctx, newCategory(category, "ground")) },
		func() error { return tx.CreateCompany(ctx, newCompany(companyA)) },
		func() error { return tx.AppendBranding(ctx, newBranding(companyA, 1)) },
		func() error { return tx.CreateEvent(ctx, newEvent(eventA)) },
		func() error {
			return tx.CreateWallets(ctx, []driver.Wallet{newWallet(companyA, ledger.Float)})
		},
	)
}

// nothingKept looks for what groundIn wrote, and then writes it, which would fail if it existed.
func nothingKept(ctx context.Context, s driver.Store) error {
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("companies", make([]driver.Company, 1)).from(tx.Companies(ctx, []uuid.UUID{companyA})),
			want("list of companies", []driver.Company(nil)).from(tx.ListCompanies(ctx, driver.Position{}, 9)),
			want("list of categories", []driver.Category(nil)).from(tx.ListCategories(ctx, "", 9)),
			want("brandings", make([]driver.Branding, 1)).
				from(tx.Brandings(ctx, []driver.BrandingRef{{CompanyID: companyA, Version: 1}})),
			want("list of events", []driver.Event(nil)).
				from(tx.ListEvents(ctx, driver.EventQuery{CompanyID: companyA, Limit: 9})),
			want("wallets", make([]driver.Wallet, 1)).
				from(tx.Wallets(ctx, []driver.WalletRef{{CompanyID: companyA, Wallet: ledger.Float}})),
		)
	})
	if err != nil {
		return fmt.Errorf("after a failed Update: %w", err)
	}
	if err := update(ctx, s, groundIn); err != nil {
		return fmt.Errorf("write again what a failed Update wrote: %w", err)
	}
	return nil
}

func swallowedErrorDooms(ctx context.Context, s driver.Store) error {
	for name, fail := range map[string]writes{
		"a change of what is missing": func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateCategory(ctx, newCategory(id(99), "missing"))
		},
		"a broken constraint": func(ctx context.Context, tx driver.Tx) error {
			if err := tx.CreateCategory(ctx, newCategory(id(98), "twice")); err != nil {
				return err
			}
			return tx.CreateCategory(ctx, newCategory(id(97), "twice"))
		},
	} {
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			if err := groundIn(ctx, tx); err != nil {
				return err
			}
			// If writes are sent late, the error may come from the Update itself.
			_ = fail(ctx, tx)
			return nil
		})
		if err == nil {
			return fmt.Errorf("an Update whose fn swallowed %s is kept", name)
		}
	}
	err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		_, _ = tx.SecretNames(ctx)
		_, _ = tx.Begin(ctx, driver.BeginOptions{})
		_ = tx.CreateCompany(ctx, newCompany(companyA))
		return nil
	})
	if err == nil {
		return errors.New("an Update whose fn called something before Begin is kept")
	}
	return nothingKept(ctx, s)
}

func constraintKeepsNothing(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := groundIn(ctx, tx); err != nil {
			return err
		}
		return tx.CreateCategory(ctx, newCategory(id(11), "ground"))
	})
	if err := refuses("a slug twice in one Update", err); err != nil {
		return err
	}
	return nothingKept(ctx, s)
}

func runsAgain(ctx context.Context, s driver.Store) error {
	runs := 0
	err := update(ctx, Rerun(s), func(ctx context.Context, tx driver.Tx) error {
		runs++
		return groundIn(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("the second run: %w", err)
	}
	if runs != 2 {
		return fmt.Errorf("fn ran %d times, want 2", runs)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("what the second run wrote", []driver.Company{newCompany(companyA)}).
			from(tx.Companies(ctx, []uuid.UUID{companyA}))
	})
}
