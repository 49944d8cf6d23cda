package group

import (
	"context"
	"slices"
	"time"
)

// runner is the work of one goroutine: a lane, group after group, or one busy key beside them. Only that goroutine uses
// it, except for the fields that the lock of the lanes guards.
type runner[K comparable, T any] struct {
	lanes *Lanes[K, T]
	alone *queue[K, T] // the busy key; nil for a lane
	busy  bool         // the last run did not get the locks of the key

	ran     int           // how many calls the last run had
	took    time.Duration // how long the last run took; written before the lock is taken that arrived has
	gathers bool          // the next group may wait for callers that call again
	overdue bool          // the next group has calls that waited for too long; guarded by the lock
	watch   watch         // when those of the last run do; guarded by the lock

	enough chan struct{} // ends the wait; nil while the lane does not wait; guarded by the lock
	timer  *time.Timer   // ends it, too; reset under the lock

	keys  []*queue[K, T] // the keys of the group
	group []*entry[K, T]
	parts [][]*entry[K, T] // the parts of the group that are still to run, the last one first
	calls []T
}

// work runs until no call waits. If Run ends the goroutine, another one continues.
func (r *runner[K, T]) work() {
	finished := false
	defer func() {
		if !finished {
			go r.work()
		}
	}()
	for r.ready() {
		r.run()
	}
	finished = true
}

// lead runs the first group of an idle lane in the caller's own goroutine. That saves the caller two goroutine
// switches. Further work is left to another goroutine.
func (r *runner[K, T]) lead() {
	finished := false
	defer func() {
		if !finished {
			go r.work()
		}
	}()
	if !r.ready() {
		finished = true
		return
	}
	r.run()
	if r.ran > 1 || len(r.parts) > 0 {
		return // More calls may follow, or parts are left to run.
	}
	finished = r.rest()
}

// rest ends the runner and reports true if no call waits for it.
func (r *runner[K, T]) rest() bool {
	l := r.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(r)
	clear(r.group)
	r.group = r.group[:0]
	if !l.turns.empty() {
		return false
	}
	l.rest(r)
	return true
}

// ready ensures that there is a part to run. If it returns false, the runner has ended.
func (r *runner[K, T]) ready() bool {
	if len(r.parts) > 0 {
		return true
	}
	l := r.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(r)
	clear(r.group)
	r.group = r.group[:0]
	if r.gathers {
		r.gather()
	}
	for r.alone != nil && (!r.busy || r.alone.calls.empty()) {
		if r.alone = l.rejoin(r.alone); r.alone == nil {
			l.beside--
			l.stopped()
			return false
		}
		r.busy = true
	}
	if r.alone == nil && !r.overdue && l.defers(len(l.runners)-len(l.resting)-1) {
		l.rest(r)
		return false
	}
	r.overdue = false
	l.next(r)
	if len(r.group) == 0 {
		l.rest(r)
		return false
	}
	l.staff() // The remaining calls are for another lane.
	r.parts = append(r.parts, r.group)
	return true
}

// run runs the next part and settles it, even if Run panics or does not return.
func (r *runner[K, T]) run() {
	last := len(r.parts) - 1
	part := r.parts[last]
	r.parts[last] = nil
	r.parts = r.parts[:last]
	for _, e := range part {
		r.calls = append(r.calls, e.call)
	}
	config := &r.lanes.config
	patience := config.Patience
	if r.alone != nil {
		patience = 0
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(part[0].ctx), config.Timeout)
	returned := false
	var err error
	defer func() {
		class := Poison
		late := false
		switch {
		case !returned:
			err = newPanicError(recover())
		case err != nil:
			class = config.Class(err)
			late = ctx.Err() != nil
		}
		cancel()
		r.ran, r.took = len(part), time.Since(start)
		if config.Ran != nil {
			config.Ran(len(part), r.took, err)
		}
		r.expect(err == nil)
		clear(r.calls)
		r.calls = r.calls[:0]
		r.settle(part, err, class, late)
	}()
	err = config.Run(ctx, patience, r.calls)
	returned = true
}

// settle gives the calls of a part that ran their results, or makes them run again in other groups.
func (r *runner[K, T]) settle(part []*entry[K, T], err error, class Class, late bool) {
	r.busy = false
	switch {
	case err == nil:
		answer(part, nil)
	case class == Gone:
		waiting := r.lanes.takeAll()
		answer(part, err)
		for _, rest := range slices.Backward(r.parts) {
			answer(rest, err)
		}
		clear(r.parts)
		r.parts = r.parts[:0]
		answer(waiting, err)
	case late:
		answer(part, err)
	case class == Busy && severalKeys(part):
		r.parts = append(r.parts, byKey(part)...)
	case class == Busy && r.alone == nil:
		r.lanes.stepAside(r.withRest(part))
	case class == Busy:
		r.busy = true
		answer(part, err)
	case len(part) > 1:
		half := len(part) / 2
		r.parts = append(r.parts, part[half:], part[:half])
	default:
		answer(part, err)
	}
}

// withRest removes the later calls of a part's one key from the remaining parts, and returns them after those of the
// part.
func (r *runner[K, T]) withRest(part []*entry[K, T]) []*entry[K, T] {
	same := func(e *entry[K, T]) bool { return e.key == part[0].key }
	all := slices.Clone(part)
	for i, rest := range slices.Backward(r.parts) {
		for _, e := range rest {
			if same(e) {
				all = append(all, e)
			}
		}
		r.parts[i] = slices.DeleteFunc(rest, same)
	}
	r.parts = slices.DeleteFunc(r.parts, func(rest []*entry[K, T]) bool { return len(rest) == 0 })
	return all
}

func answer[K comparable, T any](calls []*entry[K, T], err error) {
	for _, e := range calls {
		e.answer <- err
	}
}

func severalKeys[K comparable, T any](part []*entry[K, T]) bool {
	return slices.ContainsFunc(part, func(e *entry[K, T]) bool { return e.key != part[0].key })
}

// byKey splits a part by key, with the key of its first call last.
func byKey[K comparable, T any](part []*entry[K, T]) [][]*entry[K, T] {
	var parts [][]*entry[K, T]
	index := make(map[K]int)
	for _, e := range part {
		i, ok := index[e.key]
		if !ok {
			i = len(parts)
			index[e.key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], e)
	}
	slices.Reverse(parts)
	return parts
}
