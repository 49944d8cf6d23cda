package group_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// linger is the pace at which groups wait for callers in these tests.
const linger = 0.9

// Callers that call again after a group run together in the next one. It waits until as many calls have arrived as ran,
// and at most twice as long as callers took before.
func TestAGroupWaitsForThoseWhoComeAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		linger float64
		second time.Duration // when the second caller calls again
		runs   []string
		first  time.Duration // when the first call returned
	}{
		{"for none", 0, returnTime, []string{"a1", "a2 a3", "a4", "a5"}, time.Millisecond + runTime},
		{"until they are there", linger, returnTime, []string{"a1", "a2 a3", "a4 a5"}, returnTime + runTime},
		{"as long as that", linger, 2*returnTime - 1, []string{"a1", "a2 a3", "a4 a5"}, 2*returnTime - 1 + runTime},
		{"no longer", linger, 2*returnTime + 1, []string{"a1", "a2 a3", "a4", "a5"}, 2*returnTime + runTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				config := db.config()
				config.Linger = test.linger
				c := newCallers(config)
				c.teach(db, runTime)
				all := jobs("a1 a2 a3 a4 a5")
				c.send(t.Context(), all[:3]...)
				time.Sleep(2*runTime + time.Millisecond)
				c.send(t.Context(), all[3])
				time.Sleep(test.second - time.Millisecond)
				c.send(t.Context(), all[4])
				c.drain(t)
				is.Equal(db.ran(), test.runs)
				is.Equal(c.when(all[3])-2*runTime, test.first)
			})
		})
	}
}

// Once most callers are there, the group waits for the others half as long as most of them usually take.
func TestAGroupWaitsLessForTheLast(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		last time.Duration // when the last caller calls again
		runs []string
	}{
		{"in time", returnTime + returnTime/2 - 1, []string{"a1", "a2 a3 a4 a5", "b2 b3 b4 b5"}},
		{"later", returnTime + returnTime/2 + 1, []string{"a1", "a2 a3 a4 a5", "b2 b3 b4", "b5"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				config := db.config()
				config.Linger = linger
				c := newCallers(config)
				c.teach(db, runTime)
				c.send(t.Context(), jobs("a1 a2 a3 a4 a5")...)
				time.Sleep(2*runTime + returnTime)
				c.send(t.Context(), jobs("b2 b3 b4")...)
				time.Sleep(test.last - returnTime)
				c.send(t.Context(), jobs("b5")...)
				c.drain(t)
				is.Equal(db.ran(), test.runs)
			})
		})
	}
}

// After a wait for callers who did not call again, the next group does not wait if few waits were worth it before.
func TestNoGroupWaitsForThoseWhoDoNotComeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Linger = linger
		c := newCallers(config)
		c.teach(db, runTime)
		all := jobs("a1 a2 a3 a4 b1 b2 b3 b4")
		c.send(t.Context(), all[:3]...)
		time.Sleep(2 * runTime)
		c.send(t.Context(), all[3]) // One of two.
		time.Sleep(2*returnTime + runTime)
		begun := time.Since(c.start)
		c.send(t.Context(), all[4:7]...)
		time.Sleep(2*runTime + time.Microsecond) // b2 and b3, which ran together, have returned.
		c.send(t.Context(), all[7])
		time.Sleep(2 * runTime) // Drain would end a wait.
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "a2 a3", "a4", "b1", "b2 b3", "b4"})
		is.Equal(c.when(all[3]), 2*runTime+2*returnTime+runTime)
		is.Equal(c.when(all[7])-begun, 3*runTime+time.Microsecond)
	})
}

// The calls that a lane waits for are left to it even if another lane is idle, whatever their key. Afterwards both
// lanes take their share.
func TestWhatALaneWaitsForIsLeftToIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Lanes, config.Linger = 2, linger
		c := newCallers(config)
		c.teach(db, runTime)
		all := jobs("a1 a2 a3 a4 b1 b2 c1")
		c.send(t.Context(), all[:4]...)
		time.Sleep(2*runTime + time.Millisecond) // a2, a3 and a4 have returned.
		c.send(t.Context(), all[4], all[5])
		is.Equal(db.ran(), []string{"a1", "a2 a3 a4"})
		time.Sleep(time.Millisecond)
		c.send(t.Context(), all[6])
		is.Equal(db.ran(), []string{"a1", "a2 a3 a4", "b1 b2", "c1"})
		c.drain(t)
		is.Equal(c.when(all[4]), 2*runTime+2*time.Millisecond+runTime)
		is.Equal(c.when(all[6]), 2*runTime+2*time.Millisecond+runTime)
	})
}

// A lane stops waiting for repeated calls if another lane, which has just finished, takes them.
func TestAGroupDoesNotWaitForThoseWhoAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Lanes, config.Linger = 2, linger
		c := newCallers(config)
		c.teach(db, runTime)
		c.send(t.Context(), jobs("a1 a2 a3")...)
		time.Sleep(runTime + runTime/2)
		c.send(t.Context(), jobs("b1")...)
		time.Sleep(runTime / 2) // a2 and a3 have returned.
		all := jobs("c1 d1")
		c.send(t.Context(), all[0])
		time.Sleep(runTime / 2) // b1 has returned.
		c.send(t.Context(), all[1])
		is.Equal(db.ran(), []string{"a1", "a2 a3", "b1", "c1", "d1"})
		c.drain(t)
		is.Equal(c.when(all[1]), 2*runTime+runTime/2+runTime)
	})
}

// slow returns lanes whose runs take a second each, after a run of all of these jobs but the first.
func slow(t *testing.T, names string) (*database, *callers) {
	t.Helper()
	db := newDatabase()
	config := db.config()
	config.Linger = linger
	run := config.Run
	config.Run = func(ctx context.Context, patience time.Duration, calls []*job) error {
		time.Sleep(time.Second - runTime)
		return run(ctx, patience, calls)
	}
	c := newCallers(config)
	c.teach(db, time.Second)
	c.send(t.Context(), jobs(names)...)
	time.Sleep(2*time.Second + time.Millisecond) // All have returned.
	return db, c
}

// After a slow run the wait is 50 milliseconds, since it delays the calls that wait already.
func TestAGroupDoesNotWaitLongAfterASlowRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := slow(t, "a1 a2 a3")
		last := jobs("a4")
		c.send(t.Context(), last...)
		time.Sleep(2 * time.Second)
		is.Equal(db.ran(), []string{"a1", "a2 a3", "a4"})
		is.Equal(c.when(last[0]), 2*time.Second+50*time.Millisecond+time.Second)
		c.drain(t)
	})
}

// That is also the time for most and for the last callers together.
func TestAGroupDoesNotWaitLongForTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := slow(t, "a1 a2 a3 a4 a5")
		time.Sleep(48 * time.Millisecond)
		most := jobs("b2 b3 b4")
		c.send(t.Context(), most...)
		time.Sleep(2 * time.Second)
		is.Equal(db.ran(), []string{"a1", "a2 a3 a4 a5", "b2 b3 b4"})
		is.Equal(c.when(most[0]), 2*time.Second+50*time.Millisecond+time.Second)
		c.drain(t)
	})
}

// Nothing is learned from the time that a failed run takes: calls that come before it are not early because of it.
func TestFailedRunsTeachNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Linger = linger
		c := newCallers(config)
		for range 20 {
			all := jobs("z1 z2 z3 p1 p2")
			all[3].fault = func() error { time.Sleep(10 * runTime); return errPoison }
			c.send(t.Context(), all[:3]...)
			time.Sleep(3*runTime - time.Millisecond) // z2 and z3, which ran together, have returned.
			c.send(t.Context(), all[3:]...)
			time.Sleep(13 * runTime)
		}
		begun := time.Since(c.start)
		all := jobs("a1 a2 a3 a4")
		c.send(t.Context(), all[:3]...)
		time.Sleep(2*runTime + time.Microsecond)
		c.send(t.Context(), all[3])
		time.Sleep(2 * runTime)
		is.Equal(c.when(all[3])-begun, 3*runTime+time.Microsecond)
		c.drain(t)
	})
}

// Drain does not wait for calls that cannot arrive any more.
func TestDrainEndsTheWaitingForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		_, c := slow(t, "a1 a2 a3")
		begun := time.Now()
		c.drain(t)
		is.Equal(time.Since(begun), time.Duration(0))

		_, c = slow(t, "a1 a2 a3")
		last := jobs("a4")
		c.send(t.Context(), last...)
		c.drain(t)
		is.NoErr(c.answer(last[0]))
		is.Equal(c.when(last[0]), 2*time.Second+time.Millisecond+time.Second)
	})
}
