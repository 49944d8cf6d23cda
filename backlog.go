package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Backlog is how long the oldest due work has waited. It grows while no process sends, and while those that send cannot
// keep up.
type Backlog struct {
	ReadAt Time `json:"readAt"`
	// Webhooks is the time since which the oldest due webhook has waited; nil: none is due.
	Webhooks *Time `json:"webhooks"`
	// Mails is the time since which the oldest due ticket mail has waited; nil: none is due.
	Mails *Time `json:"mails"`
}

// Backlog returns since when the oldest webhook and the oldest ticket mail of all companies have waited, whichever
// process sends them. It needs tenant:read.
func (o Operator) Backlog(ctx context.Context) (Backlog, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return Backlog{}, err
	}
	var found Backlog
	now := o.s.now()
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		oldest := map[driver.WorkKind]time.Time{}
		asked := []driver.DueWork{{Kind: driver.WorkDispatch}, {Kind: driver.WorkDeliver}, {Kind: driver.WorkMail}}
		// A kind whose list was full is asked for again, after its last item.
		for len(asked) > 0 {
			due, err := tx.DueWork(ctx, driver.WorkQuery{At: now, After: asked, Limit: lookBatch})
			if err != nil {
				return err
			}
			counts, last := map[driver.WorkKind]int{}, map[driver.WorkKind]driver.DueWork{}
			for _, work := range due {
				counts[work.Kind]++
				last[work.Kind] = work
				if since, ok := oldest[work.Kind]; !ok || work.Since.Before(since) {
					oldest[work.Kind] = work.Since
				}
			}
			asked = asked[:0]
			for kind, count := range counts {
				if count >= lookBatch {
					asked = append(asked, last[kind])
				}
			}
		}
		found = Backlog{
			ReadAt: Time{Time: now}, Webhooks: optionalTime(oldest[driver.WorkDispatch]),
			Mails: optionalTime(oldest[driver.WorkMail]),
		}
		if since := oldest[driver.WorkDeliver]; found.Webhooks == nil ||
			!since.IsZero() && since.Before(found.Webhooks.Time) {
			found.Webhooks = optionalTime(since)
		}
		return nil
	})
	if err != nil {
		return Backlog{}, err
	}
	return found, nil
}
