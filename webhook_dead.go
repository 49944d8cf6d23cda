package ticketing

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	// deadLettersOf is the time over which dead letters are counted.
	deadLettersOf = 24 * time.Hour
	// MaxDeadLetters is the most dead letters that [Operator.CountDeadLetters] counts.
	MaxDeadLetters = 10_000
)

// DeadLetters counts the webhook deliveries of all companies that failed for good within a day (section 6.5).
type DeadLetters struct {
	Since Time `json:"since"` // a day ago
	Total int  `json:"total"`
	// Capped reports whether Total reached [MaxDeadLetters]. Then those that failed last are counted.
	Capped bool `json:"capped"`
	// Companies are at most a hundred companies, those with the most dead letters first, then by id.
	Companies []CompanyDeadLetters `json:"companies"`
}

// CompanyDeadLetters counts the dead letters of a company.
type CompanyDeadLetters struct {
	CompanyID   uuid.UUID `json:"companyId"`
	CompanyName string    `json:"companyName"`
	Count       int       `json:"count"`
}

// CountDeadLetters counts the webhook deliveries of all companies that became FAILED within the last 24 hours, however
// long they were tried. A delivery that was replayed since counts all the same. It needs tenant:read.
func (o Operator) CountDeadLetters(ctx context.Context) (DeadLetters, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return DeadLetters{}, err
	}
	since := o.s.now().Add(-deadLettersOf)
	var found DeadLetters
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		counts, err := tx.CountDeadLetters(ctx, since, MaxDeadLetters)
		if err != nil {
			return err
		}
		found = DeadLetters{Since: Time{Time: since}}
		for _, count := range counts {
			found.Total += count.Count
		}
		found.Capped = found.Total >= MaxDeadLetters
		slices.SortFunc(counts, func(a, b driver.DeadLetters) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.CompanyID[:], b.CompanyID[:]))
		})
		counts = counts[:min(MaxPageLimit, len(counts))]
		ids := make([]uuid.UUID, len(counts))
		for i, count := range counts {
			ids[i] = count.CompanyID
		}
		names, err := companyNames(ctx, tx, ids)
		if err != nil {
			return err
		}
		found.Companies = make([]CompanyDeadLetters, len(counts))
		for i, count := range counts {
			found.Companies[i] = CompanyDeadLetters{
				CompanyID: count.CompanyID, CompanyName: names[i], Count: count.Count,
			}
		}
		return nil
	})
	if err != nil {
		return DeadLetters{}, err
	}
	return found, nil
}
