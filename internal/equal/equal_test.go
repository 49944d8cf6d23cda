package equal_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/equal"
)

// errRefused is an error of a caller.
var errRefused = errors.New("refused")

// counter is what reads return: how many have begun.
type counter struct {
	mu     sync.Mutex
	begun  int
	shared [][]string // the callers of each
}

// read returns a read that takes some time, in which synctest runs everything else.
func (c *counter) read(begin func() []string) (int, []error, error) {
	callers := begin()
	c.mu.Lock()
	c.begun++
	number := c.begun
	c.shared = append(c.shared, callers)
	c.mu.Unlock()
	time.Sleep(time.Second)
	each := make([]error, len(callers))
	for i, caller := range callers {
		if caller == "refused" {
			each[i] = errRefused
		}
	}
	return number, each, nil
}

// TestCallsThatComeMeanwhileShareTheNextRead checks that calls of a key share the read after the one that runs, since
// that may have begun before they came; that calls of another key wait for nothing; and that a caller who is refused is
// refused alone.
func TestCallsThatComeMeanwhileShareTheNextRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var reads equal.Reads[string, string, int]
		var made counter
		began := time.Now()
		var calls sync.WaitGroup
		call := func(key, caller string, want int, wantErr error, took time.Duration) {
			calls.Go(func() {
				got, _, err := reads.Do(t.Context(), key, caller, made.read)
				if !errors.Is(err, wantErr) || err == nil && got != want || time.Since(began) != took {
					t.Errorf("%s: read %d after %v: %v; want %d after %v: %v", caller, got, time.Since(began), err, want,
						took, wantErr)
				}
			})
			synctest.Wait()
		}
		call("a", "first", 1, nil, time.Second)
		call("a", "second", 3, nil, 2*time.Second)
		call("a", "third", 3, nil, 2*time.Second)
		call("a", "refused", 0, errRefused, 2*time.Second)
		call("b", "other", 2, nil, time.Second)
		calls.Wait()
		is.Equal(made.shared, [][]string{{"first"}, {"other"}, {"second", "third", "refused"}})
		call("a", "later", 4, nil, 3*time.Second)
		calls.Wait()
	})
}

// TestCallerWhoGivesUpLeavesTheReadToOthers checks that calls that share a read get a result though the call that was
// to make it, or was making it, gave up or panicked.
func TestCallerWhoGivesUpLeavesTheReadToOthers(t *testing.T) {
	t.Parallel()
	for name, gives := range map[string]func(ctx context.Context) error{
		"while it reads": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"by a panic": func(context.Context) error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var reads equal.Reads[string, string, int]
				var made counter
				var calls sync.WaitGroup
				calls.Go(func() { _, _, _ = reads.Do(t.Context(), "a", "first", made.read) })
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				calls.Go(func() {
					defer func() { _ = recover() }()
					_, _, err := reads.Do(ctx, "a", "second", func(func() []string) (int, []error, error) {
						return 0, nil, gives(ctx)
					})
					is.True(errors.Is(err, context.DeadlineExceeded))
				})
				synctest.Wait()
				for range 3 {
					calls.Go(func() {
						_, _, err := reads.Do(t.Context(), "a", "other", made.read)
						is.NoErr(err)
					})
				}
				calls.Wait()
				is.Equal(made.shared, [][]string{{"first"}, {"other"}, {"other", "other"}}) // One of them asks again first.
			})
		})
	}
	t.Run("before it reads", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var reads equal.Reads[string, string, int]
			var made counter
			var calls sync.WaitGroup
			calls.Go(func() { _, _, _ = reads.Do(t.Context(), "a", "first", made.read) })
			synctest.Wait()
			for _, caller := range []string{"second", "third"} { // makes the read, shares it
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				calls.Go(func() {
					_, _, err := reads.Do(ctx, "a", caller, made.read)
					is.True(errors.Is(err, context.DeadlineExceeded))
				})
				synctest.Wait()
			}
			calls.Go(func() {
				number, _, err := reads.Do(t.Context(), "a", "other", made.read)
				is.NoErr(err)
				is.Equal(number, 2)
			})
			calls.Wait()
		})
	})
}

// TestFullReadLeavesCallsToThemselves checks that a read has at most MaxCalls calls, and that the next one reads alone.
func TestFullReadLeavesCallsToThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var reads equal.Reads[string, string, int]
		var made counter
		var calls sync.WaitGroup
		for range equal.MaxCalls + 3 {
			calls.Go(func() {
				_, _, err := reads.Do(t.Context(), "a", "", made.read)
				is.NoErr(err)
			})
			synctest.Wait()
		}
		calls.Wait()
		var sizes []int
		for _, callers := range made.shared {
			sizes = append(sizes, len(callers))
		}
		is.Equal(sizes, []int{1, 1, 1, equal.MaxCalls})
	})
}
