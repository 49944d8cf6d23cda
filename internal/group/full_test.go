package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/group"
)

// heldLanes returns lanes whose only lane is occupied by one call until release: all others wait.
func heldLanes(t *testing.T, queue int) (c *callers, ran *[]string, release func()) {
	t.Helper()
	hold := make(chan struct{})
	ran = &[]string{}
	c = newCallers(group.Config[string, *job]{
		Lanes: 1, Queue: queue, Run: func(_ context.Context, _ time.Duration, jobs []*job) error {
			<-hold
			for _, j := range jobs {
				*ran = append(*ran, j.String())
			}
			return nil
		},
	})
	c.send(t.Context(), &job{key: "leader"})
	return c, ran, func() {
		close(hold)
		c.drain(t)
	}
}

// One key alone may fill the queue. A call of another key is accepted nevertheless, and the newest call of the key with
// the most waiting calls is refused at once instead. A key that has the most itself gets no room.
func TestFullQueueRefusesTheKeyWithTheMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, ran, release := heldLanes(t, 4)
		var flood []*job
		for i := range 5 {
			flood = append(flood, &job{key: "flood", number: i})
		}
		c.send(t.Context(), flood...)
		is.Equal(c.answer(flood[4]), group.ErrFull)
		is.Equal(c.answer(flood[3]), errNoAnswer)
		quiet, other := &job{key: "quiet"}, &job{key: "other"}
		c.send(t.Context(), quiet, other)
		is.Equal(c.answer(flood[3]), group.ErrFull)
		is.Equal(c.answer(flood[2]), group.ErrFull)
		is.Equal(c.answer(flood[1]), errNoAnswer)
		again := &job{key: "flood", number: 5}
		c.send(t.Context(), again)
		is.Equal(c.answer(again), group.ErrFull)
		release()
		for _, j := range []*job{flood[0], flood[1], quiet, other} {
			is.NoErr(c.answer(j))
		}
		is.Equal(*ran, []string{"leader0", "flood0", "quiet0", "other0", "flood1"})
	})
}

// Whatever calls come and go while the queue is full, a call is refused only if its key has the most waiting calls,
// newest first. All others are kept, those of one key in the order of their arrival.
func TestRefusalsAreFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		queue := rapid.IntRange(1, 8).Draw(rt, "queue")
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a", "a", "b", "b", "c", "d"}), 1, 40).Draw(rt, "keys")
		leaves := rapid.SliceOfN(rapid.IntRange(0, 9), len(keys), len(keys)).Draw(rt, "leaves")
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			c, ran, release := heldLanes(t, queue)
			waiting := make(map[string][]*job) // the calls that should wait
			longest := func() (most int) {
				for _, jobs := range waiting {
					most = max(most, len(jobs))
				}
				return most
			}
			total := 0
			cancels := make(map[*job]context.CancelFunc)
			for i, key := range keys {
				j := &job{key: key, number: i}
				ctx, cancel := context.WithCancel(t.Context())
				t.Cleanup(cancel)
				cancels[j] = cancel
				c.send(ctx, j)
				waiting[key] = append(waiting[key], j)
				if total++; total > queue {
					total--
					refused := j
					if most := longest(); !longerThan(waiting, key, len(waiting[key])-1) {
						waiting[key] = waiting[key][:len(waiting[key])-1]
					} else if refused = refusedOf(c, waiting, most); refused == nil {
						wrong = append(wrong, fmt.Sprintf("%v found no room, and nobody of those with %d gave way", j, most))
						break
					} else {
						jobs := waiting[refused.key]
						waiting[refused.key] = jobs[:len(jobs)-1]
					}
					if err := c.answer(refused); !errors.Is(err, group.ErrFull) {
						wrong = append(wrong, fmt.Sprintf("%v was answered %v", refused, err))
					}
				}
				if jobs := waiting[key]; leaves[i] == 0 && len(jobs) > 0 { // The first call of the key leaves.
					cancels[jobs[0]]()
					synctest.Wait()
					waiting[key] = jobs[1:]
					total--
				}
			}
			release()
			for key, jobs := range waiting {
				var order []string
				for _, j := range jobs {
					order = append(order, j.String())
					if err := c.answer(j); err != nil {
						wrong = append(wrong, fmt.Sprintf("%v was answered %v", j, err))
					}
				}
				kept := slices.DeleteFunc(slices.Clone(*ran), func(name string) bool { return !strings.HasPrefix(name, key) })
				if !slices.Equal(kept, order) {
					wrong = append(wrong, fmt.Sprintf("%s was kept as %v, not %v", key, kept, order))
				}
			}
		})
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// longerThan reports whether another key has more than the given number of waiting calls.
func longerThan(waiting map[string][]*job, key string, than int) bool {
	for other, jobs := range waiting {
		if other != key && len(jobs) > than {
			return true
		}
	}
	return false
}

// refusedOf returns the refused call that was the newest of a key with the most waiting calls.
func refusedOf(c *callers, waiting map[string][]*job, most int) *job {
	for _, jobs := range waiting {
		if len(jobs) == most && errors.Is(c.answer(jobs[most-1]), group.ErrFull) {
			return jobs[most-1]
		}
	}
	return nil
}
