package ticketing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// MaxPrefixBuyers is the most buyers whose orders [OrderSearch].EmailPrefix selects.
const MaxPrefixBuyers = 20

// maxNewPrefixBuyers is how many buyers may come between the first page of a list or file and its last.
const maxNewPrefixBuyers = 80

// buyers returns which buyers a search selects, for the scope of a cursor. No email ends with an asterisk.
func (s *OrderSearch) buyers() string {
	if s.EmailPrefix != "" {
		return s.EmailPrefix + "*"
	}
	return s.Email
}

// find returns the orders of a query, which has the search except for the beginning of an email. Highest number first.
//
// No index has the orders of all these buyers by number. So a page is read of each of them, and the pages are merged.
func (s *OrderSearch) find(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	if s.EmailPrefix == "" {
		return searchOrders(ctx, tx, query)
	}
	most := MaxPrefixBuyers
	if query.After != 0 {
		// A list or a file that has begun goes on if buyers come meanwhile, whose orders are newer than its rest.
		most += maxNewPrefixBuyers
	}
	buyers, err := tx.ListBuyers(ctx, driver.BuyerQuery{
		CompanyID: query.CompanyID, Prefix: s.EmailPrefix, Limit: most + 1,
	})
	if err != nil {
		return nil, err
	}
	if len(buyers) > most {
		return nil, Invalid(Violation{
			Message: fmt.Sprintf("emailPrefix: is the beginning of more than %d emails; send more of it", MaxPrefixBuyers),
		})
	}
	float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(query.CompanyID)[:1]))
	if err != nil {
		return nil, err
	}
	lowest, highest, err := indexedNumbers(ctx, tx, query.CompanyID, float)
	if err != nil {
		return nil, err
	}
	var found []driver.Order
	for _, buyer := range buyers {
		query.BuyerEmail = buyer.Email
		orders, err := searchOrdersOfExistingBuyer(ctx, tx, query,
			func(context.Context, driver.ReadTx, uuid.UUID, driver.Wallet) (int64, int64, error) {
				return lowest, highest, nil
			})
		if err != nil {
			return nil, err
		}
		found = append(found, orders...)
	}
	slices.SortFunc(found, func(a, b driver.Order) int { return cmp.Compare(b.Number, a.Number) })
	return found[:min(len(found), query.Limit)], nil
}
