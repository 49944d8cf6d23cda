package group_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/group"
)

// A call on idle lanes runs at once. Calls that arrive meanwhile run together in the next group. Every test here runs
// in a bubble, which fails if a goroutine is left.
func TestCallsThatArriveWhileAGroupRunsGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		c := newCallers(db.config())
		all := jobs("a1 a2 b1 a3")
		c.send(t.Context(), all...)
		is.Equal(len(c.answered()), 0) // no result before the run returned
		time.Sleep(runTime)
		synctest.Wait()
		is.Equal(c.answered(), []string{"a1"})
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 b1 a3"})
		for _, j := range all {
			is.NoErr(c.answer(j))
			is.Equal(db.keptOf(j), 1)
		}
		is.Equal(c.when(all[3]), 2*runTime)
	})
}

// A group takes calls from the keys in turn. So a key with many waiting calls keeps no other key out of the next group.
// The waiting calls of a key run in the order of their arrival.
func TestAGroupTakesFromTheKeysInTurn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, calls string
		change      func(*group.Config[string, *job])
		runs        []string
	}{
		{
			name: "in turn", calls: "a1 a2 a3 a4 a5 a6 b1 b2 c1", change: func(*group.Config[string, *job]) {},
			runs: []string{"a1", "a2 b1 c1", "a3 b2 a4", "a5 a6"},
		},
		{
			name: "one key a group", calls: "a1 a2 a3 a4 a5 a6 b1 b2 c1",
			change: func(config *group.Config[string, *job]) { config.Single = true },
			runs:   []string{"a1", "a2 a3 a4", "b1 b2", "c1", "a5 a6"},
		},
		{
			name: "a heavy call goes by itself", calls: "a1 a2 b9 c1 a3",
			change: func(config *group.Config[string, *job]) { config.Weight = 4 },
			runs:   []string{"a1", "a2", "b9", "c1 a3"},
		},
		{
			name: "as much as fits", calls: "a1 a1 a2 a1 a3 a2",
			change: func(config *group.Config[string, *job]) { config.Weight = 4 },
			runs:   []string{"a1", "a1 a2 a1", "a3", "a2"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				config := db.config()
				config.Size = 3
				test.change(&config)
				c := newCallers(config)
				for _, j := range jobs(test.calls) {
					j.weight = j.number
					c.send(t.Context(), j)
				}
				c.drain(t)
				is.Equal(db.ran(), test.runs)
			})
		})
	}
}

// Lanes run concurrently. The first one that finishes takes all waiting calls, except those of the keys that the other
// lane holds. These wait for that lane, and run before calls that arrived later.
func TestLanesRunConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Lanes = 0 // the default
		c := newCallers(config)
		c.send(t.Context(), jobs("a1 a2")...)
		is.Equal(db.ran(), []string{"a1"})
		time.Sleep(time.Millisecond)
		c.send(t.Context(), jobs("b1 b2 c1 d1 a3")...)
		is.Equal(db.ran(), []string{"a1", "b1"})
		time.Sleep(runTime - time.Millisecond)
		synctest.Wait()
		is.Equal(db.ran(), []string{"a1", "b1", "a2 c1 d1 a3"})
		time.Sleep(time.Millisecond / 2)
		c.send(t.Context(), jobs("e1 b3")...)
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "b1", "a2 c1 d1 a3", "b2 e1 b3"})
	})
}

// Calls for which a group has no room are run by an idle lane.
func TestALaneThatRestsTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Lanes, config.Weight, config.Linger = 2, 4, linger
		c := newCallers(config)
		c.teach(db, runTime)
		c.send(t.Context(), jobs("a1 a2 a3")...)
		time.Sleep(2*runTime + time.Millisecond) // a2 and a3 have returned, and the lane waits for more.
		last := jobs("b1 c1")
		last[0].weight, last[1].weight = 3, 3
		begun := time.Since(c.start)
		c.send(t.Context(), last...)
		is.Equal(db.ran(), []string{"a1", "a2 a3", "b1", "c1"})
		c.drain(t)
		is.Equal(c.when(last[1])-begun, runTime)
	})
}

// A caller whose context ended before, or ends while its call waits, gets that error, and the call never runs.
func TestACallerThatLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		c := newCallers(db.config())
		all := jobs("a1 a2 a3 b1 a4")
		ctx, cancel := context.WithCancel(t.Context())
		c.send(t.Context(), all[:2]...)
		c.send(ctx, all[2:4]...)
		cancel()
		synctest.Wait()
		is.Equal(c.answered(), []string{"a3", "b1"}) // at once
		time.Sleep(time.Second)
		c.send(ctx, all[4]) // on idle lanes
		c.drain(t)
		for _, j := range all[2:] {
			is.True(errors.Is(c.answer(j), context.Canceled))
		}
		is.Equal(db.ran(), []string{"a1", "a2"})
	})
}

// A caller whose context ends while its call runs gets that error at once. The group continues, and its other calls are
// not affected.
func TestACallerThatLeavesTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		c := newCallers(db.config())
		all := jobs("a1 a2 a3")
		ctx, cancel := context.WithTimeout(t.Context(), runTime+time.Millisecond)
		defer cancel()
		c.send(t.Context(), all[0])
		c.send(ctx, all[1])
		c.send(t.Context(), all[2])
		c.drain(t)
		is.True(errors.Is(c.answer(all[1]), context.DeadlineExceeded))
		is.Equal(c.when(all[1]), runTime+time.Millisecond)
		is.NoErr(c.answer(all[2]))
		is.Equal(db.ran(), []string{"a1", "a2 a3"})
		is.Equal(db.keptOf(all[1]), 1)
	})
}

// A run has its own deadline and the values of its first call's context, and no caller's cancellation.
func TestTheContextOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		type name struct{}
		var value any
		lanes := group.New(group.Config[string, *job]{
			Run: func(ctx context.Context, _ time.Duration, calls []*job) error {
				if calls[0] == nil {
					time.Sleep(time.Millisecond)
					return nil
				}
				value = ctx.Value(name{})
				<-ctx.Done()
				return ctx.Err()
			},
			Timeout: time.Minute,
		})
		begun := time.Now()
		go func() { _ = lanes.Do(t.Context(), "a", 1, nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), name{}, "ada"), time.Second)
		defer cancel()
		is.True(errors.Is(lanes.Do(ctx, "a", 1, &job{}), context.DeadlineExceeded))
		is.Equal(time.Since(begun), time.Second)
		is.NoErr(lanes.Drain(t.Context()))
		is.Equal(time.Since(begun), time.Minute+time.Millisecond)
		is.Equal(value, "ada")
	})
}

// A run that failed after its deadline is not halved, since each half could take as long: all its calls fail.
func TestARunThatFailsLateIsNotHalved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Timeout = time.Second
		c := newCallers(config)
		slow := func() error { time.Sleep(2 * time.Second); return errPoison }
		all := jobs("a1 a2 a3 b1")
		all[2].fault = slow
		c.send(t.Context(), all...)
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 b1 a3"})
		for _, j := range all[1:] {
			is.True(errors.Is(c.answer(j), errPoison))
		}
	})
}

// A full queue refuses calls at once, and accepts calls again when there is room.
func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Queue = 2
		c := newCallers(config)
		all := jobs("a1 a2 b1 a3 b2 a4")
		ctx, cancel := context.WithCancel(t.Context())
		c.send(t.Context(), all[:2]...)
		c.send(ctx, all[2])
		c.send(t.Context(), all[3])
		is.Equal(c.answer(all[3]), group.ErrFull)
		cancel() // makes room
		synctest.Wait()
		c.send(t.Context(), all[4])
		is.Equal(len(c.answered()), 2) // a3 and b1
		time.Sleep(runTime)
		c.send(t.Context(), all[5])
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 b2", "a4"})
	})
}

// Drain refuses new calls and waits for the others, also when it is called again. If its context ends, the calls
// continue.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		c := newCallers(db.config())
		all := jobs("a1 a2 b1 a3")
		c.send(t.Context(), all[:3]...)
		ctx, cancel := context.WithTimeout(t.Context(), runTime/2)
		defer cancel()
		is.True(errors.Is(c.lanes.Drain(ctx), context.DeadlineExceeded))
		c.send(t.Context(), all[3])
		is.Equal(c.answer(all[3]), group.ErrClosed)
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 b1"})
		c.drain(t)
		is.Equal(len(c.answered()), 4)
	})
	synctest.Test(t, func(t *testing.T) {
		newCallers(newDatabase().config()).drain(t) // lanes that were never used
	})
}

// Ran is called after every run, also after one that fails, before its calls get their results.
func TestOnGroupIsCalledForEveryRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		type run struct {
			calls int
			took  time.Duration
			err   error
		}
		var ran []run
		config := db.config()
		config.Ran = func(calls int, took time.Duration, err error) { ran = append(ran, run{calls, took, err}) }
		c := newCallers(config)
		all := jobs("a1 a2 a3")
		all[2].fault = poison
		c.send(t.Context(), all...)
		c.drain(t)
		is.Equal(ran, []run{{1, runTime, nil}, {2, runTime, errPoison}, {1, runTime, nil}, {1, runTime, errPoison}})
	})
}

// Idle lanes keep no reference to what they ran, whether it ran as a whole, in parts or beside the lane.
func TestIdleLanesKeepNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		lanes := group.New(group.Config[*job, *job]{
			Run: func(_ context.Context, patience time.Duration, calls []*job) error {
				time.Sleep(runTime)
				if len(calls) > 1 || patience > 0 && calls[0].key == "busy" {
					return errBusy
				}
				return nil
			},
			Class: class,
			Lanes: 1,
		})
		var seen []weak.Pointer[job]
		for i := range 100 {
			key, call := &job{number: i}, &job{key: []string{"free", "busy"}[i%2]}
			seen = append(seen, weak.Make(key), weak.Make(call))
			go func() { is.NoErr(lanes.Do(t.Context(), key, 1, call)) }()
		}
		synctest.Wait()
		is.NoErr(lanes.Drain(t.Context()))
		synctest.Wait()
		runtime.GC()
		for _, pointer := range seen {
			is.True(pointer.Value() == nil)
		}
		runtime.KeepAlive(lanes)
	})
}

// New panics if there is no Run, or a part is not one.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	run := newDatabase().run
	for name, config := range map[string]group.Config[string, *job]{
		"no Run":          {},
		"negative Linger": {Run: run, Linger: -0.1}, "Linger of 1": {Run: run, Linger: 1},
		"negative Fill": {Run: run, Fill: -0.1}, "Fill of 1": {Run: run, Fill: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				is.New(t).True(recover() != nil)
			}()
			group.New(config)
		})
	}
}
