package group_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// crowded is how many calls come to the lanes of a crowd at a time. Their groups have up to three quarters of them.
const crowded = 32

// crowdWeight is the weight of a full group of a crowd.
const crowdWeight = 1000

// newCrowd returns idle lanes whose groups lately had many calls, of so many keys.
func newCrowd(t *testing.T, lanes, keys int) (*database, *callers) {
	t.Helper()
	db := newDatabase()
	config := db.config()
	config.Lanes, config.Fill, config.Weight = lanes, 0.5, crowdWeight
	c := newCallers(config)
	for range 12 {
		c.crowd(t, keys)
	}
	c.reset(db)
	return db, c
}

// crowd sends many calls of so many keys and waits for them.
func (c *callers) crowd(t *testing.T, keys int) {
	t.Helper()
	var crowd []*job
	for i := range crowded {
		crowd = append(crowd, &job{key: fmt.Sprintf("crowd %d", i%keys), number: i})
	}
	c.send(t.Context(), crowd...)
	time.Sleep(5 * runTime)
	synctest.Wait()
}

// inCrowd runs a test on two lanes of a crowd.
func inCrowd(t *testing.T, keys int, test func(t *testing.T, is *is.I, db *database, c *callers)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, c := newCrowd(t, 2, keys)
		test(t, is.New(t), db, c)
		c.drain(t)
	})
}

// Few calls wait for the lane that runs. An idle lane starts meanwhile once half of a large group waits.
func TestFewCallsWaitForALaneThatRuns(t *testing.T) {
	inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
		c.send(t.Context(), jobs("a0")...) // It finds no other lane that runs.
		var sent []string
		for ; len(db.ran()) == 1; is.True(len(sent) < crowded) {
			one := &job{key: fmt.Sprintf("key %d ", len(sent))}
			sent = append(sent, one.String())
			c.send(t.Context(), one)
		}
		is.True(len(sent) >= crowded/4 && len(sent) <= crowded/2)
		is.Equal(db.ran(), []string{"a0", strings.Join(sent, " ")})
		last := jobs("b0")
		c.send(t.Context(), last...)
		c.drain(t)
		is.Equal(db.ran()[2], "b0")
		is.Equal(c.when(last[0]), 2*runTime)
	})
}

// Calls that wait for a lane run as soon as its run ends: no lane leaves them to others if none runs.
func TestTheLastLaneTakesAllThatWait(t *testing.T) {
	inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
		all := jobs("a1 b1 c1 d1")
		c.send(t.Context(), all...)
		time.Sleep(runTime)
		synctest.Wait()
		is.Equal(db.ran(), []string{"a1", "b1 c1 d1"})
		time.Sleep(runTime)
		synctest.Wait()
		is.Equal(c.when(all[3]), 2*runTime) // Without a Drain.
	})
}

// Calls wait for a lane no longer than two runs of large groups take, so a run that waits for a lock does not keep
// them: not even if calls that waited before have left.
func TestCallsDoNotWaitLongForALane(t *testing.T) {
	t.Parallel()
	const longest = 3 * runTime // With their own run.
	soon := func(took time.Duration) bool { return took > 0 && took <= longest }
	held := span{0, 5 * runTime}
	t.Run("a lock", func(t *testing.T) {
		inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
			db.held["a"] = held
			all := jobs("a1 b1 c1")
			c.send(t.Context(), all[0])
			time.Sleep(runTime / 2)
			c.send(t.Context(), all[1])
			time.Sleep(runTime)
			c.send(t.Context(), all[2])
			c.drain(t)
			is.Equal(db.ran(), []string{"a1", "b1 c1"})
			took := c.when(all[1]) - runTime/2
			is.True(soon(took))
			is.True(took > longest-runTime/100) // The timer and no lane began it; some runs of a crowd were a little shorter.
			is.Equal(c.when(all[0]), 5*runTime)
		})
	})
	t.Run("a caller leaves", func(t *testing.T) {
		inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
			db.held["a"] = held
			all := jobs("a1 b1 c1")
			c.send(t.Context(), all[0])
			ctx, leave := context.WithCancel(t.Context())
			c.send(ctx, all[1])
			leave()
			time.Sleep(2*runTime + runTime/10)
			sent := time.Since(c.start)
			c.send(t.Context(), all[2])
			time.Sleep(longest)
			synctest.Wait()
			is.True(soon(c.when(all[2]) - sent))
		})
	})
}

// Calls that become free at once are shared by as many idle lanes as have enough each.
func TestLanesShareWhatIsEnoughForEach(t *testing.T) {
	t.Parallel()
	for _, want := range [][]int{{10}, {12, 12}, {12, 12, 12}} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				db, c := newCrowd(t, 3, crowded)
				wave := func(from int) (wave []*job) {
					for i := from; i < 2*crowded; i++ {
						wave = append(wave, &job{key: fmt.Sprintf("key %d ", i), number: from})
					}
					return wave
				}
				c.send(t.Context(), wave(0)...)
				time.Sleep(runTime + runTime/2) // One lane runs the last of them, and the others none.
				before := len(db.ran())
				c.send(t.Context(), wave(2*crowded-len(want)*want[0])...)
				is.Equal(len(db.ran()), before)
				time.Sleep(runTime)
				var sizes []int
				for _, ran := range db.ran()[before:] {
					sizes = append(sizes, strings.Count(ran, "key"))
				}
				is.Equal(sizes, want)
				c.drain(t)
			})
		})
	}
}

// A full group by weight does not wait, however few calls it has.
func TestAFullGroupByWeightDoesNotWait(t *testing.T) {
	inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
		c.send(t.Context(), jobs("a1")...)
		heavy := jobs("b1 c1")
		heavy[0].weight, heavy[1].weight = crowdWeight/2, crowdWeight/2
		c.send(t.Context(), heavy[0])
		is.Equal(db.ran(), []string{"a1"})
		c.send(t.Context(), heavy[1])
		is.Equal(db.ran(), []string{"a1", "b1 c1"})
	})
}

// Where groups have the calls of two busy keys, a call of another key does not wait for their lane.
func TestAQuietKeyDoesNotWaitForTwoBusyOnes(t *testing.T) {
	inCrowd(t, 2, func(t *testing.T, is *is.I, db *database, c *callers) {
		c.send(t.Context(), jobs("a1 b1")...)
		is.Equal(db.ran(), []string{"a1", "b1"})
	})
}

// When the load is gone, calls run at once again.
func TestCallsDoNotWaitAfterTheCrowd(t *testing.T) {
	inCrowd(t, crowded, func(t *testing.T, is *is.I, db *database, c *callers) {
		for range 40 {
			c.send(t.Context(), jobs("a1")...)
			time.Sleep(runTime)
		}
		synctest.Wait()
		db.runs = nil
		c.send(t.Context(), jobs("a2 b2")...)
		is.Equal(db.ran(), []string{"a2", "b2"})
	})
}

// Clients that call again make no groups of one between large ones.
func TestNoSmallGroupsBetweenLargeOnes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fill        float64
		least, most int // of 100 groups have fewer than 8 calls
	}{{0, 50, 100}, {0.5, 0, 0}} {
		t.Run(fmt.Sprint(test.fill), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLanes(0, test.fill, 0, 2)
				l.again(t, 64, overHTTP, 2*time.Second)
				l.drain(t)
				sizes, _ := l.last(120)
				small := 0
				for _, size := range sizes[:100] { // At the end, clients leave.
					if size < 8 {
						small++
					}
				}
				if small < test.least || small > test.most {
					t.Errorf("%d small groups of %v; want %d to %d", small, sizes, test.least, test.most)
				}
			})
		})
	}
}
