package storetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// A store that breaks one promise fails the check of that promise, which the same store unbroken passes.
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
			is.True(ok) // the check is there
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			is.NoErr(check.Run(ctx, memory.New())) // the store without the fault
			// A store that keeps the check waiting is seen by the deadline.
			ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			err := check.Run(ctx, broken.breaks(memory.New()))
			t.Log(err)
			is.True(err != nil) // the store with it
		})
	}
}

// No two checks have one name, so that a failure names one promise.
func TestCheckNamesAreUnique(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	seen := make(map[string]bool)
	for _, check := range storetest.Checks() {
		is.True(!seen[check.Name]) // a name of its own
		seen[check.Name] = true
	}
}

// Every fn runs twice, and only its second run is kept.
func TestRerunKeepsTheSecondRun(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := storetest.Rerun(memory.New())
	for _, name := range []string{"first", "second"} {
		runs := 0
		err := store.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
			runs++
			_, err := tx.Enter(ctx, ticketing.Entrance{})
			is.NoErr(err)
			return tx.AppendSecretName(ctx, name+[]string{"", " for nothing", " for real"}[runs], time.Time{})
		})
		is.NoErr(err)
		is.Equal(runs, 2)
	}
	err := store.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(names, []string{"first for real", "second for real"})
		return err
	})
	is.NoErr(err)
}

// The error of the second run is the answer, whatever the first one said.
func TestRerunAnswersWithTheSecondRun(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	first, second := errors.New("first"), errors.New("second")
	said := []error{first, second}
	err := storetest.Rerun(memory.New()).Update(t.Context(), func(context.Context, ticketing.Tx) error {
		err := said[0]
		said = said[1:]
		return err
	})
	is.Equal(err, second)
}

type durable struct{ ticketing.Store }

func (durable) Durable() bool { return true }

// A store that outlives its process still says so, and one that does not, does not.
func TestRerunTellsWhetherTheStoreIsDurable(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	kept, ok := storetest.Rerun(durable{memory.New()}).(ticketing.DurableStore)
	is.True(ok && kept.Durable())
	_, ok = storetest.Rerun(memory.New()).(ticketing.DurableStore)
	is.True(!ok)
}
