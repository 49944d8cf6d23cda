package group_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// Callers that come again after a group go together in the next one, which waits for as many as ran and no longer than
// its part of the run's time.
func TestAGroupWaitsForThoseWhoComeAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		linger int
		runs   []string
		last   time.Duration // when the last call was answered
	}{
		{"for none", 0, []string{"a1", "a2 a3", "a4", "a5"}, 2*runTime + time.Millisecond + 2*runTime},
		{"until they are there", 2, []string{"a1", "a2 a3", "a4 a5"}, 2*runTime + 2*time.Millisecond + runTime},
		{"for a part of the run", 10, []string{"a1", "a2 a3", "a4", "a5"}, 2*runTime + time.Millisecond + 2*runTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is, db := is.New(t), newDatabase()
				config := db.config()
				config.Linger = test.linger
				c := newCallers(config)
				all := jobs("a1 a2 a3 a4 a5")
				c.send(t.Context(), all[:3]...)
				time.Sleep(2*runTime + time.Millisecond)
				c.send(t.Context(), all[3])
				time.Sleep(time.Millisecond)
				c.send(t.Context(), all[4])
				c.drain(t)
				is.Equal(db.ran(), test.runs)
				is.Equal(c.when(all[4]), test.last)
			})
		})
	}
}

// Callers that come again in another lane are not waited for any longer.
func TestAGroupDoesNotWaitForThoseWhoComeToAnotherLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, db := is.New(t), newDatabase()
		config := db.config()
		config.Lanes, config.Linger = 2, 2
		c := newCallers(config)

		// Whoever runs beside the first one is in the other lane.
		c.send(t.Context(), jobs("a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 k1 l1 m1 n1 o1 p1 q1 r1 s1 t1 u1 v1 w1 x1 y1 z1")...)
		is.Equal(len(db.ran()), 2)
		other := db.ran()[1][:1]
		time.Sleep(time.Second)

		begun := time.Since(c.start)
		all := jobs("a2 a3 a4 a5 " + other + "2")
		c.send(t.Context(), all[:3]...)
		time.Sleep(2*runTime + time.Millisecond) // a3 and a4 are answered.
		c.send(t.Context(), all[3], all[4])
		c.drain(t)
		is.Equal(c.when(all[2])-begun, 2*runTime)
		is.Equal(c.when(all[3])-begun, 2*runTime+time.Millisecond+runTime)
	})
}

// slow are lanes whose runs take a second each, after one of two calls.
func slow(t *testing.T) (*database, *callers) {
	t.Helper()
	db := newDatabase()
	config := db.config()
	config.Linger = 1
	run := config.Run
	config.Run = func(ctx context.Context, patience time.Duration, calls []*job) error {
		time.Sleep(time.Second - runTime)
		return run(ctx, patience, calls)
	}
	c := newCallers(config)
	c.send(t.Context(), jobs("a1 a2 a3")...)
	time.Sleep(2*time.Second + time.Millisecond) // a2 and a3 are answered.
	return db, c
}

// After a slow run it is waited for 50 milliseconds, which hold back whoever waits already.
func TestAGroupDoesNotWaitLongAfterASlowRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := slow(t)
		last := jobs("a4")
		c.send(t.Context(), last...)
		time.Sleep(2 * time.Second)
		is.Equal(db.ran(), []string{"a1", "a2 a3", "a4"})
		is.Equal(c.when(last[0]), 2*time.Second+50*time.Millisecond+time.Second)
		c.drain(t)
	})
}

// Drain is not kept waiting for calls that cannot come any more.
func TestDrainEndsTheWaitingForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		_, c := slow(t)
		begun := time.Now()
		c.drain(t)
		is.Equal(time.Since(begun), time.Duration(0))

		_, c = slow(t)
		last := jobs("a4")
		c.send(t.Context(), last...)
		c.drain(t)
		is.NoErr(c.answer(last[0]))
		is.Equal(c.when(last[0]), 2*time.Second+time.Millisecond+time.Second)
	})
}
