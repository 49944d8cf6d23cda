package slot_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/slot"
)

// A key has its slots and no more. Waiting calls get slots in the order of their arrival. A call that finds the queue
// full is refused at once, and another key's calls are not affected.
func TestSlotsOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		slots := slot.New[string](slot.Config{Slots: 2, Queue: 2, Patience: time.Second})
		first, err := slots.Take(t.Context(), "a")
		is.NoErr(err)
		second, err := slots.Take(t.Context(), "a")
		is.NoErr(err)
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() {
				release, err := slots.Take(t.Context(), "a")
				is.NoErr(err)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				release()
			})
			synctest.Wait()
		}
		_, err = slots.Take(t.Context(), "a")
		is.Equal(err, slot.ErrRefused) // The queue is full.
		other, err := slots.Take(t.Context(), "b")
		is.NoErr(err) // Another key has a separate queue.
		other()
		first()
		first() // A second release has no effect.
		all.Wait()
		is.Equal(order, []int{0, 1})
		second()
		is.Equal(slots.Keys(), 0) // Nothing is kept of an idle key.
	})
}

// A waiting call ends with its patience or its context, and takes no slot.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		slots := slot.New[int](slot.Config{Slots: 1, Queue: 9, Patience: time.Second})
		release, err := slots.Take(t.Context(), 1)
		is.NoErr(err)
		began := time.Now()
		_, err = slots.Take(t.Context(), 1)
		is.Equal(err, slot.ErrRefused)
		is.Equal(time.Since(began), time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = slots.Take(ctx, 1)
		is.True(errors.Is(err, context.DeadlineExceeded))
		_, err = slots.Take(ctx, 2)
		is.True(errors.Is(err, context.DeadlineExceeded)) // Even if a slot is free.
		release()
		again, err := slots.Take(t.Context(), 1)
		is.NoErr(err)
		again()
		is.Equal(slots.Keys(), 0)
	})
}

// A slot that is left under a hold is released when the hold is done. After that, a slot is released at once. A second
// slot replaces the first one. A released slot leaves the hold as it was.
func TestHold(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	given := ""
	as := func(name string) func() { return func() { given += name } }
	slot.Leave(t.Context(), as("a"))
	is.Equal(given, "a")
	ctx, done := slot.Hold(t.Context())
	slot.Leave(ctx, as("b"))
	is.Equal(given, "a")
	slot.Leave(ctx, as("c"))
	is.Equal(given, "ab")
	slot.Release(ctx)
	is.Equal(given, "abc")
	slot.Release(ctx)
	slot.Leave(ctx, as("d"))
	is.Equal(given, "abc")
	done()
	is.Equal(given, "abcd")
	slot.Leave(ctx, as("e"))
	is.Equal(given, "abcde")
	done()
	slot.Release(ctx)
	slot.Release(t.Context())
	is.Equal(given, "abcde")
}

// Whatever calls come and go, no key has more running calls than slots, no slot is lost, and nothing is kept in the
// end.
func TestSlotsAreNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		config := slot.Config{
			Slots: rapid.IntRange(1, 3).Draw(rt, "slots"), Queue: rapid.IntRange(0, 4).Draw(rt, "queue"),
			Patience: 20 * time.Millisecond,
		}
		type visit struct {
			key               int
			after, stay, busy time.Duration
		}
		ms := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 30).Draw(rt, name)) * time.Millisecond
		}
		visits := make([]visit, rapid.IntRange(1, 40).Draw(rt, "calls"))
		for i := range visits {
			visits[i] = visit{rapid.IntRange(0, 2).Draw(rt, "key"), ms("after"), ms("stay"), ms("busy")}
		}
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			slots := slot.New[int](config)
			var mu sync.Mutex
			var all sync.WaitGroup
			running := map[int]int{}
			for _, v := range visits {
				all.Go(func() {
					time.Sleep(v.after)
					ctx, cancel := context.WithTimeout(t.Context(), v.stay)
					defer cancel()
					release, err := slots.Take(ctx, v.key)
					if err != nil {
						return
					}
					defer release()
					mu.Lock()
					if running[v.key]++; running[v.key] > config.Slots {
						wrong = "more calls run than there are slots"
					}
					mu.Unlock()
					time.Sleep(v.busy)
					mu.Lock()
					running[v.key]--
					mu.Unlock()
				})
			}
			all.Wait()
			if slots.Keys() != 0 {
				wrong = "a key is kept"
			}
			for key := range 3 {
				for range config.Slots {
					if _, err := slots.Take(t.Context(), key); err != nil {
						wrong = "a slot is lost"
					}
				}
			}
		})
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}
