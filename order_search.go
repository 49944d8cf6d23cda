package ticketing

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// searchWindow is how many order numbers of a company one statement searches for the orders of a buyer where the index
// of buyers lacks them. A search of a million orders takes about a second; the window keeps each of its statements
// short.
const searchWindow = 200_000

// searchOrders returns the orders of a query, highest number first. For those of one buyer it must run in a snapshot,
// or under the company's gate, if the index and the search have to see the same orders.
//
// A sale adds nothing to the index of buyers. The dispatch of its fact does, and the background does for orders from
// before the index. So the index lacks the newest orders and some of the oldest, and these are searched.
func searchOrders(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	if query.BuyerEmail == "" {
		return tx.ListOrders(ctx, query)
	}
	return searchOrdersOfBuyer(ctx, tx, query, indexedNumbers)
}

// searchEveryOrder is searchOrders for one buyer without the index. An erasure has to find every order, and the index
// lacks those whose facts a process of an earlier version dispatched beside newer ones.
func searchEveryOrder(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	return searchOrdersOfBuyer(ctx, tx, query,
		func(context.Context, driver.ReadTx, driver.Wallet) (lowest, highest int64, err error) {
			return 1, 0, nil
		})
}

// findWindow is how many of the newest order numbers are searched where the index of buyers may lack them and the
// answer has to come at once.
const findWindow = 10_000

// findOrdersOfBuyer is searchOrders for one buyer in a bounded time. It misses orders from before the index that are
// not indexed yet, and orders whose facts wait for the dispatch behind more than ten thousand newer orders.
func findOrdersOfBuyer(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	return searchOrdersOfBuyer(ctx, tx, query,
		func(ctx context.Context, tx driver.ReadTx, float driver.Wallet) (lowest, highest int64, err error) {
			_, highest, err = indexedNumbers(ctx, tx, float)
			return 1, max(highest, float.Sequence-findWindow), err
		})
}

// searchOrdersOfBuyer returns the orders of one buyer. The index has every order from the lowest to the highest number
// that indexed returns.
func searchOrdersOfBuyer(
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery,
	indexed func(context.Context, driver.ReadTx, driver.Wallet) (lowest, highest int64, err error),
) ([]driver.Order, error) {
	// The orders of an erased buyer keep a made-up email that has no buyer record, so its absence proves nothing.
	if !strings.HasSuffix(query.BuyerEmail, erasedDomain) {
		buyer, err := firstRecord(tx.Buyers(ctx, []driver.BuyerRef{{CompanyID: query.CompanyID, Email: query.BuyerEmail}}))
		if err != nil || buyer.Email == "" {
			return nil, err
		}
	}
	return searchOrdersOfExistingBuyer(ctx, tx, query, indexed)
}

// searchOrdersOfExistingBuyer is searchOrdersOfBuyer for a buyer who has a record, or is erased.
func searchOrdersOfExistingBuyer(
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery,
	indexed func(context.Context, driver.ReadTx, driver.Wallet) (lowest, highest int64, err error),
) ([]driver.Order, error) {
	// An order's number is the sequence of its FLOAT entry, so the wallet's sequence is an upper limit for all of them.
	float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(query.CompanyID)[:1]))
	if err != nil {
		return nil, err
	}
	if query.After == 0 {
		query.After = float.Sequence + 1
	}
	// Both limits are read before the index, which only grows meanwhile.
	lowest, highest, err := indexed(ctx, tx, float)
	if err != nil {
		return nil, err
	}
	var found []driver.Order
	for _, part := range []struct {
		above, after int64
		search       func(context.Context, driver.ReadTx, driver.OrderQuery) ([]driver.Order, error)
	}{
		{highest, query.After, searchWindows},
		{lowest - 1, min(query.After, highest+1), searchIndex},
		{0, min(query.After, highest+1, lowest), searchWindows},
	} {
		asked := query
		asked.AboveNumber, asked.After = max(part.above, query.AboveNumber), part.after
		asked.Limit = query.Limit - len(found)
		if asked.Limit <= 0 || asked.After <= asked.AboveNumber+1 {
			continue
		}
		orders, err := part.search(ctx, tx, asked)
		if err != nil {
			return nil, err
		}
		found = append(found, orders...)
	}
	return found, nil
}

// searchIndex returns the orders of one buyer that the index of buyers has.
func searchIndex(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	query.Indexed = true
	return tx.ListOrders(ctx, query)
}

// searchWindows returns the orders of one buyer, window by window from the newest. It ends at the first full page, so a
// buyer of recent orders is found quickly however many orders there are.
func searchWindows(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	var found []driver.Order
	// Each window ends where the previous one began, and the search stops when the page is full.
	for oldest := query.AboveNumber; query.After > oldest+1 && query.Limit > 0; {
		query.AboveNumber = max(query.After-1-searchWindow, oldest)
		part, err := tx.ListOrders(ctx, query)
		if err != nil {
			return nil, err
		}
		// A window may have no order of the buyer; the search goes on with the next one.
		found = append(found, part...)
		query.After, query.Limit = query.AboveNumber+1, query.Limit-len(part)
	}
	return found, nil
}

// indexedNumbers returns the lowest and the highest number between which the index of buyers has every order of a
// company. The fact of every order with a number below that of the oldest waiting fact is dispatched, since no FLOAT
// entry has a time before that of the entry before it.
func indexedNumbers(ctx context.Context, tx driver.ReadTx, float driver.Wallet) (lowest, highest int64, err error) {
	progress, err := firstRecord(tx.SalesProgress(ctx, []uuid.UUID{float.CompanyID}))
	if err != nil {
		return 0, 0, err
	}
	// Nothing is above SalesReset, so the orders of a company that is reset are all searched.
	lowest = min(progress.Uncounted, driver.SalesReset-1) + 1
	waiting, err := firstRecord(tx.UndispatchedFacts(ctx, float.CompanyID, driver.Position{}, 1))
	if err != nil || waiting.ID == uuid.Nil {
		return lowest, math.MaxInt64 - 1, err
	}
	places, err := ledgerPlaces(ctx, tx, float, []time.Time{waiting.At})
	if err != nil {
		return 0, 0, err
	}
	return lowest, places[0].sequence, nil
}
