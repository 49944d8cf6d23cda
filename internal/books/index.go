package books

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// indexWindow is how many order numbers of a company one statement compares with the index of buyers.
const indexWindow = 10_000

// matchIndex checks that the index of buyers has an entry of every order that is counted and whose fact is dispatched:
// without one a search by email misses the order. It reports how many are missing in one line, since one rebuild enters
// them all.
func (b *companyBooks) matchIndex(ctx context.Context) error {
	// No FLOAT entry has a time before that of the one before it, so every order from before the oldest fact that waits
	// is dispatched.
	waiting, err := b.Tx.UndispatchedFacts(ctx, b.record.ID, driver.Position{}, 1)
	if err != nil {
		return err
	}
	query := driver.UnindexedQuery{CompanyID: b.record.ID}
	if len(waiting) > 0 {
		query.Before = waiting[0].At
	}
	var missing int
	var first uuid.UUID
	for above := b.counted.uncounted; above < b.head; above += indexWindow {
		query.Above, query.Through = above, min(above+indexWindow, b.head)
		found, err := b.Tx.UnindexedOrders(ctx, query)
		if err != nil {
			return err
		}
		if missing == 0 && len(found) > 0 {
			first = found[0]
		}
		missing += len(found)
	}
	if missing > 0 {
		b.problemf("index of buyers: %d orders are missing, the first is order %s: a search by email does not find them "+
			"until the sums of sales are rebuilt (ticketing stats rebuild)", missing, first)
	}
	return nil
}
