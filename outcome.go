package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

const (
	outcomeBatch = 256 // how many outcomes are written together
	// Where more than so many outcomes came at a time, others do: the next are written after a while, all together.
	outcomeFlow  = 4
	outcomePause = 15 * time.Millisecond
	// storeTries is how often it is tried to write the outcome of an attempt, or to look at an endpoint, where the store
	// fails, a second between them at last: about as long as the lease; storeTriesAtEnd is how often after the end of Run,
	// and in a single pass.
	storeTries      = 30
	storeTriesAtEnd = 5
)

// result is what an attempt came to.
type result int

const (
	resultFailure result = iota
	resultSuccess
	resultTimeout
	resultUnsent // it was not tried
	resultCut    // this side gave up, which says nothing about the receiver
)

// outcome is what an attempt came to, to be written.
type outcome struct {
	delivery DeliveryRecord // as it was leased
	attempt  DeliveryAttempt
	result   result
	at       time.Time
	jitter   float64

	// What the writing found:
	after DeliveryRecord // as it is kept now
	ours  bool           // the outcome counted
	// cancelling tells that the endpoint was disabled or deleted.
	cancelling bool
}

// unsent gives a delivery back that was not tried.
func (p parcel) unsent(at time.Time) *outcome {
	return &outcome{delivery: p.delivery, result: resultUnsent, at: at}
}

// on is the delivery after the outcome, and whether it counts. One that ended meanwhile stays as it is: there are no two
// final statuses. A success counts, whoever had it. Anything else counts only where the lease is still that of the
// attempt: if it ran out, because this process was held up, and another process took the delivery, that one tells.
func (o *outcome) on(kept DeliveryRecord) (DeliveryRecord, bool) {
	mine := kept.LeasedUntil.Equal(o.delivery.LeasedUntil) && len(kept.Attempts) == len(o.delivery.Attempts)
	switch {
	case kept.ID == uuid.Nil || kept.Status != DeliveryPending:
		return kept, false
	case o.result == resultSuccess:
		return kept.succeeded(o.attempt, o.at), true
	case !mine:
		return kept, false
	case o.result == resultUnsent:
		return kept.released(o.at, o.at), true
	case o.result == resultCut:
		return kept.released(o.at, o.at.Add(retryWait(1, o.jitter))), true
	default:
		return kept.failed(o.attempt, o.at, o.jitter), true
	}
}

// recorded tells whether the outcome is kept already: by a commit whose answer was lost.
func (o *outcome) recorded(kept DeliveryRecord) bool {
	last := len(kept.Attempts) - 1
	return last >= 0 && last == len(o.delivery.Attempts) && kept.Attempts[last].At.Equal(o.attempt.At.Time) &&
		kept.Attempts[last].Error == o.attempt.Error && kept.Attempts[last].Status == o.attempt.Status
}

// writeOutcomes keeps what attempts came to, decided on each delivery as it is then, under its lock. It enters no gate:
// it reads and changes nothing but these rows, so that who disables an endpoint behind a closed gate waits for no sender,
// and where gates are locks of the companies' rows it takes none of those either. Groups confined to a company name one.
func (s *Service) writeOutcomes(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	refs := make([]DeliveryRef, len(outcomes))
	for i, o := range outcomes {
		refs[i] = o.delivery.ref()
	}
	refs = distinct(refs)
	return s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Patience: patience}); err != nil {
			return err
		}
		found, err := tx.LockDeliveries(ctx, refs)
		if err != nil {
			return err
		}
		kept := make(map[DeliveryRef]DeliveryRecord, len(refs))
		for i, ref := range refs {
			kept[ref] = found[i]
		}
		var changed []DeliveryRef
		for _, o := range outcomes {
			ref := o.delivery.ref()
			o.cancelling = kept[ref].Cancelling
			if o.ours = o.recorded(kept[ref]); o.ours {
				o.after = kept[ref]
			} else if o.after, o.ours = o.on(kept[ref]); o.ours {
				kept[ref] = o.after
				changed = append(changed, ref)
			}
		}
		changed = distinct(changed)
		if len(changed) == 0 {
			return nil
		}
		records := make([]DeliveryRecord, len(changed))
		for i, ref := range changed {
			records[i] = kept[ref]
		}
		return tx.UpdateDeliveries(ctx, records)
	})
}

// writeGroup keeps a group of outcomes. When many come, it has the next ones gather.
func (s *Service) writeGroup(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	if len(outcomes) <= outcomeFlow {
		return s.writeOutcomes(ctx, patience, outcomes)
	}
	pause := time.NewTimer(outcomePause)
	defer pause.Stop()
	if err := s.writeOutcomes(ctx, patience, outcomes); err != nil {
		return err
	}
	<-pause.C
	return nil
}

// write keeps an outcome, together with those that come at the same time, and tells whether it counted. Where the store
// fails it tries again for about as long as the lease lasts; then the delivery is sent once more.
func (c *courier) write(ctx context.Context, o *outcome) bool {
	err := c.insist(func() error { return c.outcomes.Do(ctx, o.delivery.CompanyID, 1, o) })
	if err != nil {
		c.s.report(ctx, "write what became of a delivery", fmt.Errorf("delivery %s: %w", o.delivery.ID, err))
	}
	return err == nil && o.ours
}

// insist does what needs the store, again and again where that fails, a second between the tries at last.
func (c *courier) insist(do func() error) error {
	wait := lookGap
	for try := 1; ; try++ {
		err := do()
		if err == nil || c.givesUp(try) {
			return err
		}
		pause := time.NewTimer(wait)
		<-pause.C
		wait = min(2*wait, time.Second)
	}
}

// givesUp tells whether what the store has refused so often is not tried again.
func (c *courier) givesUp(tries int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tries >= storeTries || tries >= storeTriesAtEnd && (c.once || c.closed)
}
