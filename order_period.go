package ticketing

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

// bound confines a query to the period of a search. An order's number is the sequence of its FLOAT entry, which has the
// time of the order, so a period of orders is a range of numbers.
func (s OrderSearch) bound(
	ctx context.Context, tx driver.WalletReader, known *knownPlaces, query *driver.OrderQuery,
) error {
	if s.From.IsZero() && s.To.IsZero() {
		return nil
	}
	float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(query.CompanyID)[:1]))
	if err != nil {
		return err
	}
	above, last, err := entriesOf(ctx, tx, known, float, s.From, s.To)
	if err != nil {
		return err
	}
	query.AboveNumber = above
	// Zero would be no bound.
	if query.After == 0 || query.After > last+1 {
		query.After = last + 1
	}
	return nil
}
