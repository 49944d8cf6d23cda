package group_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/group"
)

// Halving finds every poisonous call of a group: each fails alone with its error, and all others succeed, in order. A
// run that panics or ends its goroutine is handled alike, and the error does not contain the panic's value.
func TestPoisonFailsAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fault  func() error
		failed func(error) bool
	}{
		{name: "error", fault: poison, failed: func(err error) bool { return errors.Is(err, errPoison) }},
		{name: "panic", fault: panics, failed: panicOf("string")},
		{name: "panic with an error", fault: func() error { panic(errPoison) }, failed: panicOf("*errors.errorString")},
		{name: "end of the goroutine", fault: exits, failed: panicOf("runtime.Goexit")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				c := newCallers(db.config())
				all := jobs("a1 a2 b1 a3 a4 b2 c1 a5 b3")
				bad := []*job{all[3], all[4], all[8]}
				for _, j := range bad {
					j.fault = test.fault
				}
				c.send(t.Context(), all...)
				c.drain(t)
				for _, j := range all {
					if j.fault == nil {
						is.NoErr(c.answer(j))
						is.Equal(db.keptOf(j), 1)
					} else {
						is.True(test.failed(c.answer(j)))
						is.Equal(db.keptOf(j), 0)
					}
				}
				is.Equal(db.order("a"), []int{1, 2, 5})
				is.Equal(db.order("b"), []int{1, 2})
			})
		})
	}
}

func panicOf(kind string) func(error) bool {
	return func(err error) bool {
		var panicked *group.PanicError
		return errors.As(err, &panicked) && panicked.Type == kind && len(panicked.Stack) > 0 &&
			!strings.Contains(fmt.Sprintf("%v %s", err, panicked.Stack), "ada@example.com")
	}
}

// A key whose lock somebody holds runs alone, and its later calls wait for it. The calls of other keys succeed, in its
// own group and in later ones. After the lock is free, the key is grouped with the others again.
func TestABusyKeyGoesAlone(t *testing.T) {
	t.Parallel()
	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprintf("single %t", single), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				db.held["b"] = span{to: 450 * time.Millisecond}
				config := db.config()
				config.Single = single
				c := newCallers(config)
				c.send(t.Context(), jobs("a1 a2 b1 c1 b2")...)
				time.Sleep(200 * time.Millisecond)
				synctest.Wait()
				is.Equal(c.answered(), []string{"a1", "a2", "c1"})
				before := time.Since(db.start)
				later := jobs("b3 a3 c2")
				c.send(t.Context(), later...)
				time.Sleep(2 * runTime)
				synctest.Wait()
				is.Equal(c.answered(), []string{"a1", "a2", "a3", "c1", "c2"})
				is.True(c.when(later[1])-before <= 2*runTime)
				time.Sleep(600 * time.Millisecond)
				synctest.Wait()
				is.Equal(db.order("b"), []int{1, 2, 3})

				runs := len(db.ran())
				c.send(t.Context(), jobs("a4 a5 b4")...)
				c.drain(t)
				if single {
					is.Equal(db.ran()[runs:], []string{"a4", "a5", "b4"})
				} else {
					is.Equal(db.ran()[runs:], []string{"a4", "a5 b4"})
				}
				for j, err := range c.answers {
					is.NoErr(err)
					is.Equal(db.keptOf(j), 1)
				}
			})
		})
	}
}

// If a key stays busy for longer than its patience, the calls that waited for it fail, group by group, and no others.
func TestAKeyThatStaysBusyFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		db.held["b"] = span{to: time.Minute}
		c := newCallers(db.config())
		c.send(t.Context(), jobs("b1 b2")...)
		time.Sleep(100 * time.Millisecond)
		last := jobs("b3 a1 b4")
		c.send(t.Context(), last...)
		c.drain(t)
		for j, err := range c.answers {
			is.Equal(errors.Is(err, errBusy), j.key == "b")
		}
		is.Equal(c.when(last[1]), 100*time.Millisecond+runTime)
		is.Equal(db.ran(), []string{"b1", "b1 b2", "a1", "b3 b4"})
	})
}

// The number of busy keys that run beside the lane is limited. The other busy keys wait for one of them, without
// blocking the lane.
func TestBusyKeysAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		for _, key := range []string{"b", "c", "d"} {
			db.held[key] = span{to: time.Minute}
		}
		config := db.config()
		config.Alone = 2
		c := newCallers(config)
		all := jobs("b1 c1 d1 a1 d2")
		c.send(t.Context(), all...)
		c.drain(t)
		// In the lane: b1; c1 d1 a1 d2; then, of these, c1, d1 d2 and a1. Beside it: b1, then d1 d2; c1.
		first := runTime + patience
		is.Equal(c.when(all[0]), first+runTime+ownPatience)
		is.Equal(c.when(all[1]), 3*first+runTime+ownPatience)
		is.Equal(c.when(all[3]), 4*first+runTime)
		is.Equal(c.when(all[2]), c.when(all[0])+runTime+ownPatience)
		is.Equal(c.when(all[4]), c.when(all[2]))
		for j, err := range c.answers {
			is.Equal(errors.Is(err, errBusy), j.key != "a")
		}
	})
}

// A busy key returns to the lane with its waiting calls as soon as a run had its locks. So a key that always has calls
// does not block a parked one forever.
func TestABusyKeyReturnsWhenItsLockIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		db.held["b"] = span{to: 300 * time.Millisecond}
		config := db.config()
		config.Size = 2
		c := newCallers(config)
		c.send(t.Context(), jobs("b1 b2 b3 b4 b5")...)
		time.Sleep(298 * time.Millisecond)
		c.send(t.Context(), jobs("a1 a2")...)
		c.drain(t)
		is.Equal(db.ran(), []string{"b1", "b1 b2", "a1", "a2 b3", "b4 b5"})
		is.Equal(db.order("b"), []int{1, 2, 3, 4, 5})
	})
}

// A call whose caller left while it ran is not run again beside the lane.
func TestACallWithoutACallerDoesNotGoAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		db.held["b"] = span{to: 200 * time.Millisecond}
		c := newCallers(db.config())
		all := jobs("a1 b1 b2")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		c.send(t.Context(), all[0])
		c.send(ctx, all[1])
		c.send(t.Context(), all[2])
		c.drain(t)
		is.True(errors.Is(c.answer(all[1]), context.DeadlineExceeded))
		is.NoErr(c.answer(all[2]))
		is.Equal(db.ran(), []string{"a1", "b1 b2", "b2"})
	})
}

// With poison and a busy key in one group, each call fails or waits by itself. The order within the busy key is kept,
// although its calls were in both halves.
func TestPoisonNextToABusyKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		c := newCallers(db.config())
		all := jobs("a1 a2 b1 a3 b2 a4 b3 a5 b4")
		all[1].fault = func() error {
			db.held["b"] = span{to: 400 * time.Millisecond} // only now, so that the group is halved first
			return errPoison
		}
		c.send(t.Context(), all...)
		c.drain(t)
		for _, j := range all {
			is.Equal(c.answer(j) != nil, j.fault != nil)
			is.Equal(db.keptOf(j) == 0, j.fault != nil)
		}
		is.Equal(len(db.wrong), 0)
		is.Equal(db.order("a"), []int{1, 3, 4, 5})
		is.Equal(db.order("b"), []int{1, 2, 3, 4})
	})
}

// If the database is unavailable, all calls of the group and all that wait fail at once, including those that wait for
// a busy key. Later calls run again.
func TestGoneFailsAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		db.held["b"] = span{to: time.Minute}
		db.away = span{from: 200 * time.Millisecond, to: 300 * time.Millisecond}
		config := db.config()
		config.Size = 2
		c := newCallers(config)
		first := jobs("b1")
		c.send(t.Context(), first...)
		time.Sleep(195 * time.Millisecond)
		all := jobs("a1 a2 a3 c1 c2 b2 b3")
		c.send(t.Context(), all...)
		time.Sleep(runTime)
		synctest.Wait()
		for _, j := range all {
			is.Equal(c.answer(j), errGone)
			is.Equal(c.when(j), 205*time.Millisecond)
		}
		is.Equal(db.ran(), []string{"b1", "b1", "a1"})
		time.Sleep(100 * time.Millisecond)
		later := jobs("a9")
		c.send(t.Context(), later...)
		c.drain(t)
		is.NoErr(c.answer(later[0]))
		is.Equal(c.answer(first[0]), errBusy) // it ran, and has the result of its own run
	})
}

// If the database becomes unavailable while a split group runs, its remaining calls also fail.
func TestGoneInTheMiddleOfASplit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		db.away = span{from: 30 * time.Millisecond, to: time.Minute}
		c := newCallers(db.config())
		all := jobs("a1 a2 a3 b1 b2")
		all[1].fault = poison
		c.send(t.Context(), all...)
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 b1 a3 b2", "a2 b1"})
		for _, j := range all[1:] {
			is.Equal(c.answer(j), errGone)
		}
	})
}
