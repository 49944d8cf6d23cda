package storetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// TestChecksFailBrokenStores checks that a store that breaks one promise fails the check of that promise, which the
// unbroken store passes.
func TestChecksFailBrokenStores(t *testing.T) {
	t.Parallel()
	checks := make(map[string]storetest.Check)
	for _, check := range storetest.Checks() {
		checks[check.Name] = check
	}
	for _, broken := range brokenStores() {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			check, ok := checks[broken.fails]
			is.True(ok) // the check exists
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			is.NoErr(check.Run(ctx, memory.New())) // the store without the fault
			// The deadline detects a store that makes the check wait.
			ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			err := check.Run(ctx, broken.breaks(memory.New()))
			t.Log(err)
			is.True(err != nil) // the store with the fault
		})
	}
}

// TestCheckNamesAreUnique checks that no two checks share a name, so that a failure names one promise.
func TestCheckNamesAreUnique(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	seen := make(map[string]bool)
	for _, check := range storetest.Checks() {
		is.True(!seen[check.Name]) // a unique name
		seen[check.Name] = true
	}
}

// TestRerunKeepsTheSecondRun checks that every fn runs twice, and that only its second run is kept.
func TestRerunKeepsTheSecondRun(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := storetest.Rerun(memory.New())
	for _, name := range []string{"first", "second"} {
		runs := 0
		err := store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			runs++
			_, err := tx.Begin(ctx, driver.BeginOptions{})
			is.NoErr(err)
			return tx.AppendSecretName(ctx, name+[]string{"", " for nothing", " for real"}[runs], time.Time{})
		})
		is.NoErr(err)
		is.Equal(runs, 2)
	}
	err := store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(names, []string{"first for real", "second for real"})
		return err
	})
	is.NoErr(err)
}

// TestRerunAnswersWithTheSecondRun checks that Update returns the error of the second run, whatever the first one
// returned.
func TestRerunAnswersWithTheSecondRun(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	first, second := errors.New("first"), errors.New("second")
	said := []error{first, second}
	err := storetest.Rerun(memory.New()).Update(t.Context(), func(context.Context, driver.Tx) error {
		err := said[0]
		said = said[1:]
		return err
	})
	is.Equal(err, second)
}

type durable struct{ driver.Store }

func (durable) Durable() bool { return true }

// TestRerunReportsWhetherTheStoreIsDurable checks that Rerun preserves whether a store is durable.
func TestRerunReportsWhetherTheStoreIsDurable(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	kept, ok := storetest.Rerun(durable{memory.New()}).(driver.DurableStore)
	is.True(ok && kept.Durable())
	_, ok = storetest.Rerun(memory.New()).(driver.DurableStore)
	is.True(!ok)
}
