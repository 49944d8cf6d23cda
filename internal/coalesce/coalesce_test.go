package coalesce_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/coalesce"
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
		reads := coalesce.Reads[string, string, int]{Patience: time.Minute}
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
				reads := coalesce.Reads[string, string, int]{Patience: time.Minute}
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
			reads := coalesce.Reads[string, string, int]{Patience: time.Minute}
			var made counter
			var calls sync.WaitGroup
			calls.Go(func() { _, _, _ = reads.Do(t.Context(), "a", "first", made.read) })
			synctest.Wait()
			for _, caller := range []string{"second", "third"} { // makes the read, shares it
				calls.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
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

// TestCallThatCannotBeginFailsAlone checks that an error before a read has begun, such as that no slot is free, is that
// of one call: those that wait for its read ask again.
func TestCallThatCannotBeginFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		reads := coalesce.Reads[string, string, int]{Patience: time.Minute}
		var made counter
		var calls sync.WaitGroup
		calls.Go(func() {
			_, _, err := reads.Do(t.Context(), "a", "first", func(func() []string) (int, []error, error) {
				time.Sleep(time.Second)
				return 0, nil, errRefused
			})
			is.True(errors.Is(err, errRefused))
		})
		synctest.Wait()
		calls.Go(func() {
			number, leads, err := reads.Do(t.Context(), "a", "second", made.read)
			is.NoErr(err)
			is.True(leads)
			is.Equal(number, 1)
		})
		calls.Wait()
	})
}

// TestReadThatHangsDelaysOthersForTheirPatience checks that calls wait for the read of another for their patience only:
// both the one that leads the next read, and one that shares a read.
func TestReadThatHangsDelaysOthersForTheirPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := coalesce.Reads[string, string, int]{Patience: 2 * time.Second}
		var made counter
		var calls sync.WaitGroup
		hangs := make(chan struct{})
		hang := func(begin func() []string) (int, []error, error) {
			begin()
			<-hangs
			return 0, nil, nil
		}
		call := func(caller string, fn func(func() []string) (int, []error, error), took time.Duration) {
			began := time.Now()
			calls.Go(func() {
				_, _, err := reads.Do(t.Context(), "a", caller, fn)
				if err != nil || time.Since(began) != took {
					t.Errorf("%s: %v after %v, want it after %v", caller, err, time.Since(began), took)
				}
			})
			synctest.Wait()
		}
		call("first", hang, 10*time.Second)
		call("second", made.read, 3*time.Second) // It waits, and reads for a second.
		time.Sleep(5 * time.Second)
		call("third", hang, 5*time.Second)
		time.Sleep(2 * time.Second)
		call("fourth", made.read, 3*time.Second) // So does the next one.
		time.Sleep(3 * time.Second)
		close(hangs)
		calls.Wait()
	})
}

// TestFullReadLeavesCallsToThemselves checks that a read has at most MaxCalls calls, and that the next one reads alone.
func TestFullReadLeavesCallsToThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		reads := coalesce.Reads[string, string, int]{Patience: time.Minute}
		var made counter
		var calls sync.WaitGroup
		for range coalesce.MaxCalls + 3 {
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
		is.Equal(sizes, []int{1, 1, 1, coalesce.MaxCalls})
	})
}
