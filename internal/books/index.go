package books

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// indexWindow is how many order numbers of a company one statement compares with the index of buyers.
const indexWindow = 10_000

// matchIndex checks that the index of buyers has an entry for every counted order whose fact is dispatched. Otherwise a
// search by email misses the order. It reports the number of missing entries in one line, since one rebuild adds them
// all.
func (b *companyBooks) matchIndex(ctx context.Context) error {
	// The times of FLOAT's entries never decrease. So every order from before the oldest waiting fact is dispatched.
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
