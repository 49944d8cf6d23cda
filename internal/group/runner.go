package group

import (
	"context"
	"slices"
	"time"
)

// runner is a goroutine's work: a lane, group after group, or one busy key beside them. It belongs to that goroutine
// alone, but for what is the lock's.
type runner[K comparable, T any] struct {
	lanes *Lanes[K, T]
	alone *queue[K, T] // the busy key; nil for a lane
	busy  bool         // the key did not have its locks the last time

	ran     int           // how many calls the last run had
	took    time.Duration // how long it took
	gathers bool          // the next group is to wait for those who come again

	until  int64         // the arrival that is waited for at most; the lock's while enough is there
	enough chan struct{} // closed when it came; nil while nobody is waited for; the lock's

	keys  []*queue[K, T] // those of the group
	group []*entry[K, T]
	parts [][]*entry[K, T] // what is still to run of the group, the last one first
	calls []T
}

// work runs until nothing is left. What is left when Run ends the goroutine goes on in another one.
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

// lead runs the first group of a lane that rested in the caller's own goroutine, which spares one caller two changes of
// goroutine, and leaves the rest to another.
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
		return // Others may follow, or are to.
	}
	finished = r.rest()
}

// rest ends the runner, where nothing waits.
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

// ready sees that there is a part to run. The runner has ended when it returns false.
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
	l.next(r)
	if len(r.group) == 0 {
		l.rest(r)
		return false
	}
	l.staff() // What is left is for another lane.
	r.parts = append(r.parts, r.group)
	return true
}

// longestLinger bounds the waiting after a slow run: calls that wait already are held back by it.
const longestLinger = 50 * time.Millisecond

// gather waits, without the lock, for the calls that follow on those of the last run.
func (r *runner[K, T]) gather() {
	l := r.lanes
	if l.waiting < l.config.Size && l.arrivals < r.until && !l.closed {
		enough := make(chan struct{})
		r.enough = enough
		l.lingering = append(l.lingering, r)
		l.mu.Unlock()
		patience := time.NewTimer(min(r.took/time.Duration(l.config.Linger), longestLinger))
		select {
		case <-enough:
		case <-patience.C:
		}
		patience.Stop()
		l.mu.Lock()
		r.enough = nil
		l.lingering = slices.DeleteFunc(l.lingering, func(other *runner[K, T]) bool { return other == r })
	}
	r.gathers = false
	l.gathering--
}

// gathered ends the waiting of a lane for more calls.
func (r *runner[K, T]) gathered() {
	if r.enough != nil {
		close(r.enough)
		r.enough = nil
	}
}

// run runs the next part and settles it, also when Run panics or does not return.
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
		if err == nil {
			r.expect()
		}
		clear(r.calls)
		r.calls = r.calls[:0]
		r.settle(part, err, class, late)
	}()
	err = config.Run(ctx, patience, r.calls)
	returned = true
}

// expect is called before the calls of a run are answered. Where their callers are worth waiting for, no other lane
// begins with the first of them.
func (r *runner[K, T]) expect() {
	l := r.lanes
	if l.config.Linger <= 0 || r.alone != nil || r.ran < 2 || len(r.parts) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.gathers, r.until = true, l.arrivals+int64(r.ran)
	l.gathering++
}

// settle answers the calls of a part that ran, or has them run again in other company.
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

// withRest takes the later calls of a part's one key out of what is still to run, and returns them behind the part.
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

// byKey splits a part by key, the key of its first call last.
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
