package group_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/group"
)

// crowded is how many calls come to the lanes of a crowd at a time. Their groups have up to three quarters of them.
const crowded = 32

// newCrowd returns two idle lanes whose groups usually have many calls, of so many keys.
func newCrowd(t *testing.T, keys int) (*database, *callers) {
	t.Helper()
	db := newDatabase()
	config := db.config()
	config.Lanes, config.Beside = 2, 0.5
	c := newCallers(config)
	for range 12 {
		var crowd []*job
		for i := range crowded {
			crowd = append(crowd, &job{key: fmt.Sprintf("crowd %d", i%keys), number: i})
		}
		c.send(t.Context(), crowd...)
		time.Sleep(5 * runTime)
		synctest.Wait()
	}
	c.start, db.start, db.runs = time.Now(), time.Now(), nil
	return db, c
}

// Few calls are left to the lane that runs. An idle lane starts beside it once half of a usual group waits.
func TestFewCallsAreLeftToALaneThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := newCrowd(t, crowded)
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

// Calls that are left to a lane run as soon as its run ends, all of them there: none is left to the other lane.
func TestTheLastLaneTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := newCrowd(t, crowded)
		all := jobs("a1 b1 c1 d1")
		c.send(t.Context(), all...)
		time.Sleep(runTime)
		synctest.Wait()
		is.Equal(db.ran(), []string{"a1", "b1 c1 d1"})
		time.Sleep(runTime)
		synctest.Wait()
		is.Equal(c.when(all[3]), 2*runTime) // Without a Drain.
		c.drain(t)
	})
}

// Calls are left to a lane no longer than two runs usually take, so a run that waits for a lock does not keep them.
func TestCallsAreNotLeftForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := newCrowd(t, crowded)
		db.held["a"] = span{0, 5 * runTime}
		all := jobs("a1 b1 c1")
		c.send(t.Context(), all[0])
		time.Sleep(runTime / 2)
		c.send(t.Context(), all[1])
		time.Sleep(runTime)
		c.send(t.Context(), all[2])
		c.drain(t)
		is.Equal(db.ran(), []string{"a1", "b1 c1"})
		took := c.when(all[1]) - runTime/2
		is.True(took <= 3*runTime && took > 3*runTime-runTime/100) // Some runs of a crowd were not quite as long.
		is.Equal(c.when(all[0]), 5*runTime)
	})
}

// Where groups have the calls of a few busy keys, a call of another key is not left to their lane.
func TestAQuietKeyIsNotLeftToBusyOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := newCrowd(t, 2)
		c.send(t.Context(), jobs("a1 b1")...)
		is.Equal(db.ran(), []string{"a1", "b1"})
		c.drain(t)
	})
}

// When the load is gone, calls run at once again.
func TestCallsAreNotLeftAfterTheCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		db, c := newCrowd(t, crowded)
		for range 40 {
			c.send(t.Context(), jobs("a1")...)
			time.Sleep(runTime)
		}
		synctest.Wait()
		db.runs = nil
		c.send(t.Context(), jobs("a2 b2")...)
		is.Equal(db.ran(), []string{"a2", "b2"})
		c.drain(t)
	})
}

// Clients that call again make no groups of one between large ones.
func TestNoSmallGroupsBetweenLargeOnes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		beside      float64
		least, most int // of 100 groups have fewer than 8 calls
	}{{0, 50, 100}, {0.5, 0, 0}} {
		t.Run(fmt.Sprint(test.beside), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLanes(0, test.beside, 0, 2)
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

// New panics if a part is not one.
func TestPartsOutOfRange(t *testing.T) {
	t.Parallel()
	for _, part := range []float64{-0.1, 1} {
		for _, config := range []group.Config[string, *job]{
			{Run: newDatabase().run, Linger: part}, {Run: newDatabase().run, Beside: part},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("New accepts Linger %v and Beside %v", config.Linger, config.Beside)
					}
				}()
				group.New(config)
			}()
		}
	}
}
