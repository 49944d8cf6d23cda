package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of writing the outcomes of attempts.
const (
	outcomeBatch = 256 // the most outcomes in one transaction
	// After a group of more than outcomeFlow outcomes the next group waits for outcomePause, so that the following
	// outcomes share one transaction.
	outcomeFlow  = 4
	outcomePause = 15 * time.Millisecond
	// storeTries is how often a failing store is asked again, to write an outcome or to read an endpoint. The waits
	// grow to a second, so all tries take about as long as a lease. storeTriesAtEnd applies after the end of
	// [Service.Run] and in [Service.SendWebhooks].
	storeTries      = 30
	storeTriesAtEnd = 5
)

// result is how an attempt ended.
type result int

const (
	resultFailure result = iota
	resultSuccess
	resultTimeout
	resultUnsent // no request was made
	resultCut    // this process gave up, which says nothing about the receiver
)

// outcome is the end of an attempt that is to be written to the store. Each attempt makes one. Several of them share a
// transaction.
type outcome struct {
	delivery driver.Delivery // as it was leased
	attempt  DeliveryAttempt
	result   result
	at       time.Time
	jitter   float64 // from 0 to 1; lengthens the wait before the next attempt

	// Set by writeOutcomes, afresh whenever its transaction runs:
	after      driver.Delivery // the delivery as it is kept now
	counted    bool            // whether the outcome counted
	cancelling bool            // the endpoint was disabled or deleted during the attempt
}

// unsent returns the outcome of a delivery that was leased but not tried. Writing it ends the lease. No attempt is
// counted.
func (j job) unsent(at time.Time) *outcome {
	return &outcome{delivery: j.delivery, result: resultUnsent, at: at}
}

// apply returns the delivery after the outcome, and reports whether the outcome counts.
//
// A delivery that became final meanwhile stays as it is: there are no two final statuses. A success always counts,
// since the receiver has the event. Every other outcome counts only under the lease of its attempt. If that lease ran
// out and another process took the delivery, the outcome of the other process decides.
//
// kept is the delivery under its lock, and o.delivery is the delivery as it was leased. They differ where another
// process took it over or an operator acted meanwhile.
func (o *outcome) apply(kept driver.Delivery) (driver.Delivery, bool) {
	// The end of the lease and the number of attempts identify a lease: each claim sets a new end.
	mine := kept.LeasedUntil.Equal(o.delivery.LeasedUntil) && len(kept.Attempts) == len(o.delivery.Attempts)
	switch {
	case kept.ID == uuid.Nil || kept.Status != DeliveryPending:
		return kept, false
	case o.result == resultSuccess:
		return succeedDelivery(kept, o.attempt, o.at), true
	case !mine:
		return kept, false
	case o.result == resultUnsent:
		return releaseDelivery(kept, o.at, o.at), true
	case o.result == resultCut:
		return releaseDelivery(kept, o.at, o.at.Add(retryWait(1, o.jitter))), true
	default:
		return failDelivery(kept, o.attempt, o.at, o.jitter), true
	}
}

// recorded reports whether the outcome is kept already. That happens when a commit succeeded but its reply was lost.
func (o *outcome) recorded(kept driver.Delivery) bool {
	last := len(kept.Attempts) - 1
	return last >= 0 && last == len(o.delivery.Attempts) && kept.Attempts[last].At.Equal(o.attempt.At.Time) &&
		kept.Attempts[last].Error == o.attempt.Error && kept.Attempts[last].Status == o.attempt.Status
}

// writeOutcomes keeps the outcomes of attempts. It decides each one on the delivery as it is at that time, under the
// delivery's row lock.
//
// It takes no gate. It reads and changes only these rows, so disabling an endpoint under the exclusive gate never waits
// for a sender. Where gates are row locks on companies, it takes none of those either. If groups are confined to one
// company, all outcomes are of that company.
func (s *Service) writeOutcomes(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	refs := make([]driver.DeliveryRef, len(outcomes))
	for i, o := range outcomes {
		refs[i] = o.delivery.Ref()
	}
	refs = distinct(refs)
	err := s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{LockTimeout: patience}); err != nil {
			return err
		}
		// The locks are taken by key, so groups of several processes never deadlock.
		found, err := tx.LockDeliveries(ctx, refs)
		if err != nil {
			return err
		}
		// Two outcomes may be of one delivery. The second is decided on the state that the first leaves.
		kept := make(map[driver.DeliveryRef]driver.Delivery, len(refs))
		for i, ref := range refs {
			kept[ref] = found[i]
		}
		var changed []driver.DeliveryRef
		for _, o := range outcomes {
			ref := o.delivery.Ref()
			o.cancelling = kept[ref].Cancelling
			// A transaction that was repeated after a lost reply finds its own outcome, and must not count it twice.
			if o.counted = o.recorded(kept[ref]); o.counted {
				o.after = kept[ref]
			} else if o.after, o.counted = o.apply(kept[ref]); o.counted {
				kept[ref] = o.after
				changed = append(changed, ref)
			}
		}
		changed = distinct(changed)
		if len(changed) == 0 {
			return nil
		}
		records := make([]driver.Delivery, len(changed))
		for i, ref := range changed {
			records[i] = kept[ref]
		}
		return tx.UpdateDeliveries(ctx, records)
	})
	if err == nil {
		s.commits.send()
	}
	return err
}

// writeGroup writes a group of outcomes. After a large group it waits for outcomePause: the wait costs a delivery
// nothing, and the next transaction carries more.
func (s *Service) writeGroup(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	if len(outcomes) <= outcomeFlow {
		return s.writeOutcomes(ctx, patience, outcomes)
	}
	// The timer runs during the write, so a write that takes longer than outcomePause is not followed by a wait.
	pause := time.NewTimer(outcomePause)
	defer pause.Stop()
	// After an error the group is split or retried at once, so there is no pause.
	if err := s.writeOutcomes(ctx, patience, outcomes); err != nil {
		return err
	}
	<-pause.C
	return nil
}

// write keeps an outcome, grouped with others that come at the same time, and reports whether it counted. If the store
// fails it tries again for about as long as the lease lasts. If all tries fail, the lease runs out and the delivery is
// sent once more: delivery is at least once (section 6).
func (d *deliverer) write(ctx context.Context, o *outcome) bool {
	err := retryStore(d.givesUp, func() error { return d.outcomes.Do(ctx, o.delivery.CompanyID, 1, o) })
	if err != nil {
		d.s.report(ctx, "write the outcome of a delivery", fmt.Errorf("delivery %s: %w", o.delivery.ID, err))
	}
	return err == nil && o.counted
}

// retryStore calls do until it succeeds or givesUp reports true for the number of tries. The wait between two calls
// doubles up to a second. The timer is of the machine, so a fixed clock of a test does not stop it.
func retryStore(givesUp func(tries int) bool, do func() error) error {
	wait := lookGap
	for try := 1; ; try++ {
		err := do()
		if err == nil || givesUp(try) {
			return err
		}
		pause := time.NewTimer(wait)
		<-pause.C
		wait = min(2*wait, time.Second)
	}
}

// givesUp reports whether a call that the store failed this often is not tried again. During shutdown the limit is
// lower, so that a dead database does not hold up the end of the process.
func (d *deliverer) givesUp(tries int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return tries >= storeTries || tries >= storeTriesAtEnd && (d.once || d.closed)
}
