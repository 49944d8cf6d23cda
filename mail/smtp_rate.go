package mail

import (
	"context"
	"time"
)

// rate spaces mails evenly. A nil rate has no limit.
type rate struct {
	interval time.Duration
	turn     chan time.Time // holds when the next mail may be sent; who has taken it waits, and puts it back
}

func newRate(perSecond float64) *rate {
	if perSecond == 0 {
		return nil
	}
	// A rate that is too small for a Duration is one mail in a very long time.
	interval := min(float64(time.Second)/perSecond, float64(1<<62))
	r := &rate{interval: time.Duration(interval), turn: make(chan time.Time, 1)}
	r.turn <- time.Time{}
	return r
}

// wait returns when another mail may be sent, or the context's error. A wait that the context ends uses no turn.
func (r *rate) wait(ctx context.Context) error {
	if r == nil {
		return ctx.Err()
	}
	var next time.Time
	select {
	case next = <-r.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-timer.C:
		r.turn <- time.Now().Add(r.interval)
		return nil
	case <-ctx.Done():
		r.turn <- next
		return ctx.Err()
	}
}
