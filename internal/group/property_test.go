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

	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/group"
)

// plan is the input of one run of the property test.
type plan struct {
	config group.Config[string, *job]
	jobs   []*job
	after  []time.Duration // how long after the one before it each job is sent
	stay   []time.Duration // how long its caller waits; 0 means for ever
	held   map[string]span
	away   span
}

func drawPlan(t *rapid.T) plan {
	ms := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Millisecond
	}
	sometimes := func(name string, most int) time.Duration {
		if rapid.Bool().Draw(t, name) {
			return ms(name, 1, most)
		}
		return 0
	}
	draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
	drawSpan := func(name string) span {
		from := ms(name+" from", 0, 1000)
		return span{from: from, to: from + ms(name+" for", 0, 2000)}
	}
	p := plan{held: make(map[string]span)}
	p.config = group.Config[string, *job]{
		Class: class, Lanes: draw("lanes", 1, 3), Size: draw("size", 1, 9), Weight: draw("weight", 0, 9),
		Queue: draw("queue", 3, 40), Alone: draw("alone", 1, 3), Single: rapid.Bool().Draw(t, "single"),
		Patience: patience, Timeout: time.Hour,
		Linger: rapid.SampledFrom([]float64{0, 0.15, linger}).Draw(t, "linger"),
		Fill:   rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "fill"),
	}
	keys := []string{"a", "b", "c", "d", "e"}
	for _, key := range keys {
		if rapid.Bool().Draw(t, "held "+key) {
			p.held[key] = drawSpan("held " + key)
		}
	}
	if draw("away", 0, 3) == 0 {
		p.away = drawSpan("away")
	}
	faults := []func() error{nil, nil, nil, nil, nil, nil, poison, panics, exits}
	for i := range draw("jobs", 1, 80) {
		p.jobs = append(p.jobs, &job{
			key: rapid.SampledFrom(keys).Draw(t, "key"), number: i, weight: draw("weight of", 0, 5),
			fault: faults[draw("fault", 0, len(faults)-1)],
		})
		// An additional microsecond makes the order of arrival certain.
		p.after = append(p.after, sometimes("pause", 60)+time.Microsecond)
		p.stay = append(p.stay, sometimes("stay", 300))
	}
	return p
}

// Whatever fails, and whichever callers leave, each call has one result, and it is true. A call was kept once if its
// result is nil, never if it is an error, and at most once if its caller left while it ran. No call gets another call's
// error. The calls of a key are kept in the order of their arrival and never run concurrently. Groups stay within their
// limits, and no goroutine is left.
func TestNoAnswerIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = p.run(t) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// run runs a plan and returns what went wrong.
func (p plan) run(t *testing.T) []string {
	t.Helper()
	db := newDatabase()
	db.held, db.away = p.held, p.away
	config := p.config
	config.Run = func(ctx context.Context, patience time.Duration, jobs []*job) error {
		if broken := p.bounds(jobs); broken != "" {
			db.mu.Lock()
			db.wrong = append(db.wrong, broken)
			db.mu.Unlock()
		}
		return db.run(ctx, patience, jobs)
	}
	c := newCallers(config)
	for i, j := range p.jobs {
		time.Sleep(p.after[i])
		ctx := t.Context()
		if p.stay[i] > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.stay[i])
			t.Cleanup(cancel)
		}
		c.send(ctx, j)
	}
	c.drain(t)

	wrong := db.wrong
	for i, j := range p.jobs {
		if err := c.answer(j); !p.fits(db, i, err) {
			wrong = append(wrong, fmt.Sprintf("%v was kept %d times, with the answer %v", j, db.keptOf(j), err))
		}
	}
	for key := range db.active {
		if order := db.order(key); !slices.IsSorted(order) {
			wrong = append(wrong, fmt.Sprintf("%s was kept in the order %v", key, order))
		}
	}
	return wrong
}

// bounds returns what is wrong with the size of a group, or "".
func (p plan) bounds(jobs []*job) string {
	weight, several := 0, false
	for _, j := range jobs {
		weight += j.weight
		several = several || j.key != jobs[0].key
	}
	switch {
	case len(jobs) == 0 || len(jobs) > p.config.Size:
		return fmt.Sprintf("a group of %d calls", len(jobs))
	case p.config.Weight > 0 && weight > p.config.Weight && len(jobs) > 1:
		return fmt.Sprintf("a group of weight %d", weight)
	case p.config.Single && several:
		return "a group of several keys"
	}
	return ""
}

// fits reports whether a result is true, and possible for this call.
func (p plan) fits(db *database, i int, err error) bool {
	j := p.jobs[i]
	kept, tried := db.keptOf(j), count(db.tried, j)
	held, isHeld := p.held[j.key]
	var panicked *group.PanicError
	switch {
	case err == nil:
		return kept == 1 && j.fault == nil
	case errors.Is(err, context.DeadlineExceeded):
		ran := strings.Contains(err.Error(), "while the call ran")
		return p.stay[i] > 0 && kept <= 1 && (ran || kept == 0)
	case kept > 0:
		return false
	case errors.Is(err, errNoAnswer): // Its run ended the goroutine, which was its caller's.
		return j.fault != nil
	// A call that waits again after a lock timeout may also be refused.
	case errors.Is(err, group.ErrFull):
		return tried == 0 || isHeld && held.to > held.from
	case errors.Is(err, errGone):
		return p.away.to > p.away.from
	case errors.Is(err, errBusy):
		return isHeld && held.to > held.from
	case errors.Is(err, errPoison):
		return j.fault != nil
	case errors.As(err, &panicked):
		return j.fault != nil
	}
	return false
}
