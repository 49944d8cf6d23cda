package group_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/group"
)

// timedLanes are lanes whose runs take as long as those of a database: a part for the run, and a part for each call.
// They are used in a bubble.
type timedLanes struct {
	*group.Lanes[int, int]

	mu    sync.Mutex
	sizes []int // of each run
	waits []int // how long the lane waited before it, in percent of the run before
}

const (
	ofRun  = 4 * time.Millisecond
	ofCall = 50 * time.Microsecond
)

func newTimedLanes(linger float64, weight int) *timedLanes { return newLanes(linger, 0, weight, 1) }

func newLanes(linger, fill float64, weight, lanes int) *timedLanes {
	l := &timedLanes{}
	var ended time.Time
	var took time.Duration
	l.Lanes = group.New(group.Config[int, int]{
		Run: func(_ context.Context, _ time.Duration, calls []int) error {
			l.mu.Lock()
			l.sizes = append(l.sizes, len(calls))
			if took > 0 {
				l.waits = append(l.waits, int(100*time.Since(ended)/took))
			}
			l.mu.Unlock()
			length := ofRun + ofCall*time.Duration(len(calls))
			time.Sleep(length)
			l.mu.Lock()
			defer l.mu.Unlock()
			ended, took = time.Now(), length
			return nil
		},
		Lanes: lanes, Linger: linger, Fill: fill, Weight: weight,
	})
	return l
}

// again makes calls of clients that each call again some time after their result, for a length of time, and returns
// after the last result.
func (l *timedLanes) again(t *testing.T, clients int, after func(client int) time.Duration, length time.Duration) {
	t.Helper()
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := l.Do(t.Context(), client, 1, client); err != nil {
					t.Error(err)
				}
				time.Sleep(after(client))
			}
		})
	}
	all.Wait()
}

// evenly makes a call every so often, without waiting for results, and returns after the last result.
func (l *timedLanes) evenly(t *testing.T, every, length time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	for i := range int(length / every) {
		all.Go(func() {
			if err := l.Do(t.Context(), 1000+i, 1, i); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(every)
	}
	all.Wait()
}

// drain waits until the lane has ended.
func (l *timedLanes) drain(t *testing.T) {
	t.Helper()
	if err := l.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// last returns the last runs, with the waits before them.
func (l *timedLanes) last(n int) (sizes, waits []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizes[len(l.sizes)-n:], l.waits[len(l.waits)-n:]
}

// atOnce, overHTTP and slowly are how long clients take to call again.
func atOnce(int) time.Duration { return 100 * time.Microsecond }

func overHTTP(client int) time.Duration {
	return 1100*time.Microsecond + time.Duration(client%32)*20*time.Microsecond
}

func slowly(client int) time.Duration { return 3 * overHTTP(client) }

// Clients that call again run together. Without waits they are left in two halves.
func TestThoseWhoComeAgainRunTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		linger      float64
		after       func(client int) time.Duration
		least, most int // calls of 15 groups
	}{
		{"no waits", 0, overHTTP, 15 * 24, 15 * 40},
		{"at once", linger, atOnce, 15 * 64, 15 * 64},
		{"over HTTP", linger, overHTTP, 15 * 64, 15 * 64},
		{"at once, the others are not waited for", 0.15, atOnce, 15 * 64, 15 * 64},
		{"over HTTP, and not waited for", 0.15, overHTTP, 15 * 24, 15 * 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newTimedLanes(test.linger, 0)
				l.again(t, 64, test.after, time.Second)
				l.drain(t)
				sizes, waits := l.last(20)
				calls := 0
				for _, size := range sizes[:15] { // At the end, clients leave.
					calls += size
				}
				if calls < test.least || calls > test.most {
					t.Fatalf("groups of %v calls after waits of %v %%; want %d to %d calls in 15 of them",
						sizes, waits, test.least, test.most)
				}
			})
		})
	}
}

// Waits become longer where clients take longer to call again, though the waits before were too short for them.
func TestWaitsFollowThoseWhoBecomeSlower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTimedLanes(linger, 0)
		begun := time.Now()
		l.again(t, 64, func(client int) time.Duration {
			if time.Since(begun) < time.Second {
				return overHTTP(client)
			}
			return slowly(client)
		}, 2*time.Second)
		l.drain(t)
		sizes, waits := l.last(20)
		for _, size := range sizes[:15] { // At the end, clients leave.
			if size != 64 {
				t.Fatalf("groups of %v calls after waits of %v %%; want 64", sizes, waits)
			}
		}
	})
}

// Calls that have nothing to do with the run before are not kept waiting. Where most clients call again, groups wait
// for them, also if the others never come again, and no longer than their time to call again explains.
func TestGroupsWaitWhereThatIsWorthIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		clients     int // that call again
		after       func(client int) time.Duration
		every       time.Duration // a call of somebody else
		least, most int           // long waits of the last 170
		longest     int           // wait, in percent of the run before
	}{
		{"for nobody", 0, overHTTP, 200 * time.Microsecond, 0, 0, 0},
		{"for those who come at once", 36, atOnce, 400 * time.Microsecond, 0, 11, 13},
		{"for most", 40, overHTTP, 800 * time.Microsecond, 136, 170, 45},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newTimedLanes(linger, 0)
				var all sync.WaitGroup
				all.Go(func() { l.again(t, test.clients, test.after, 2*time.Second) })
				l.evenly(t, test.every, 2*time.Second)
				all.Wait()
				l.drain(t)
				_, waits := l.last(180)
				waits = waits[:170] // At the end, clients leave.
				long := longWaits(waits)
				if long < test.least || long > test.most || slices.Max(waits) > test.longest {
					t.Fatalf("%d of %d waits are long; want %d to %d, and at most %d %%: %v",
						long, len(waits), test.least, test.most, test.longest, waits)
				}
			})
		})
	}
}

// byChance makes calls with random gaps of this length on average, without waiting for results, and returns the average
// time that a call took.
func (l *timedLanes) byChance(t *testing.T, gap, length time.Duration) time.Duration {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(gap)))
	end := time.Now().Add(length)
	var all sync.WaitGroup
	var took atomic.Int64
	calls := 0
	for ; time.Now().Before(end); calls++ {
		client := calls
		all.Go(func() {
			begun := time.Now()
			if err := l.Do(t.Context(), client, 1, client); err != nil {
				t.Error(err)
			}
			took.Add(int64(time.Since(begun)))
		})
		time.Sleep(time.Duration(random.ExpFloat64() * float64(gap)))
	}
	all.Wait()
	return time.Duration(took.Load()) / time.Duration(calls)
}

// Calls of clients that come once take hardly longer where groups would wait for those who call again, whether one lane
// runs them or several, and however many of them are in a group.
func TestCallsThatComeByChanceAreHardlyDelayed(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 2, 4} {
		for _, microseconds := range []int{60, 100, 200, 400, 800, 1500, 3000, 6000} {
			t.Run(fmt.Sprintf("%d lanes, every %d µs", lanes, microseconds), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					gap := time.Duration(microseconds) * time.Microsecond
					var took [2]time.Duration
					for i, waits := range []struct{ linger, fill float64 }{{0, 0}, {linger, 0.5}} {
						l := newLanes(waits.linger, waits.fill, 0, lanes)
						took[i] = l.byChance(t, gap, 2000*gap)
						l.drain(t)
					}
					if ratio := float64(took[1]) / float64(took[0]); ratio > 1.02 {
						t.Errorf("a call takes %v, and %v if no group waits: %.3f times as long", took[1], took[0], ratio)
					}
				})
			})
		}
	}
}

// Nothing waits while enough calls for a group wait already, by their number or by their weight.
func TestNoWaitBesideAFullGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTimedLanes(linger, 16)
		l.again(t, 64, overHTTP, time.Second)
		l.drain(t)
		sizes, waits := l.last(100)
		for i, wait := range waits[:90] { // At the end, clients leave.
			if sizes[i] != 16 || wait > 0 {
				t.Fatalf("groups of %v calls after waits of %v %%; want 16 and none", sizes, waits)
			}
		}
	})
}

// When clients that called again have left, the waits end after six at most.
func TestWaitsEndWithThoseWhoCameAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		l := newTimedLanes(linger, 0)
		l.again(t, 64, overHTTP, time.Second)
		l.mu.Lock()
		before := len(l.waits)
		l.mu.Unlock()
		l.evenly(t, 200*time.Microsecond, 150*time.Millisecond)
		l.drain(t)
		l.mu.Lock()
		defer l.mu.Unlock()
		vain := l.waits[before:]
		is.True(len(vain) >= 20)
		is.Equal(longWaits(vain[6:20]), 0)
	})
}

// longWaits returns how many waits were longer than an eighth of the run before.
func longWaits(waits []int) (long int) {
	for _, wait := range waits {
		if wait > 13 {
			long++
		}
	}
	return long
}
