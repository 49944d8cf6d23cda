package ticketing

import (
	"context"
	"math"
	"strings"

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
		func(context.Context, driver.ReadTx, uuid.UUID, driver.Wallet) (lowest, highest int64, err error) {
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
		func(
			ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, float driver.Wallet,
		) (lowest, highest int64, err error) {
			_, highest, err = indexedNumbers(ctx, tx, companyID, float)
			return 1, max(highest, float.Sequence-findWindow), err
		})
}

// An indexedRange returns the lowest and the highest number between which the index of buyers has every order of a
// company, whose FLOAT wallet it gets.
type indexedRange func(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, float driver.Wallet,
) (lowest, highest int64, err error)

// searchOrdersOfBuyer returns the orders of one buyer. The index has every order from the lowest to the highest number
// that indexed returns.
func searchOrdersOfBuyer(
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery, indexed indexedRange,
) ([]driver.Order, error) {
	announceSearch(ctx, tx, query.CompanyID, indexed)
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
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery, indexed indexedRange,
) ([]driver.Order, error) {
	announceSearch(ctx, tx, query.CompanyID, indexed)
	// An order's number is the sequence of its FLOAT entry, so the wallet's sequence is an upper limit for all of them.
	float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(query.CompanyID)[:1]))
	if err != nil {
		return nil, err
	}
	if query.After == 0 {
		query.After = float.Sequence + 1
	}
	// Both limits are read before the index, which only grows meanwhile.
	lowest, highest, err := indexed(ctx, tx, query.CompanyID, float)
	if err != nil {
		return nil, err
	}
	parts := []orderRange{
		{highest, query.After, searchWindows},
		{lowest - 1, min(query.After, highest+1), searchIndex},
		{0, min(query.After, highest+1, lowest), searchWindows},
	}
	// Few buyers have a page of orders in the first part alone. A window more would make the statement long.
	if query.After-highest <= searchWindow {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
			_, _ = parts[0].read(ctx, tx, query)
			_, _ = parts[1].read(ctx, tx, query)
		})
	}
	var found []driver.Order
	for _, part := range parts {
		orders, err := part.read(ctx, tx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, orders...)
		query.Limit -= len(orders)
	}
	return found, nil
}

// announceSearch announces the reads that a search for the orders of a buyer begins with.
func announceSearch(ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, indexed indexedRange) {
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
		_, _ = tx.Wallets(ctx, driver.WalletRefs(companyID)[:1])
		_, _, _ = indexed(ctx, tx, companyID, driver.Wallet{})
	})
}

// An orderRange is a range of numbers, and how the orders of a buyer are searched in it.
type orderRange struct {
	above, after int64
	search       func(context.Context, driver.ReadTx, driver.OrderQuery) ([]driver.Order, error)
}

// read returns the orders of a query that are in the range.
func (r orderRange) read(ctx context.Context, tx driver.ReadTx, query driver.OrderQuery) ([]driver.Order, error) {
	query.AboveNumber, query.After = max(r.above, query.AboveNumber), r.after
	if query.Limit <= 0 || query.After <= query.AboveNumber+1 {
		return nil, nil
	}
	return r.search(ctx, tx, query)
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

// indexedWithin is how many of the newest indexed orders may be searched as if they were not. To read them takes less
// time than the messages that would find the place of the oldest fact exactly.
const indexedWithin = 512

// indexedNumbers returns numbers between which the index of buyers has every order of a company. The fact of every
// order with a number below that of the oldest waiting fact is dispatched, since no FLOAT entry has a time before that
// of the entry before it.
func indexedNumbers(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, float driver.Wallet,
) (lowest, highest int64, err error) {
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
		_, _ = tx.UndispatchedFacts(ctx, companyID, driver.Position{}, 1)
	})
	progress, err := firstRecord(tx.SalesProgress(ctx, []uuid.UUID{companyID}))
	if err != nil {
		return 0, 0, err
	}
	// Nothing is above SalesReset, so the orders of a company that is reset are all searched.
	lowest = min(progress.Uncounted, driver.SalesReset-1) + 1
	waiting, err := firstRecord(tx.UndispatchedFacts(ctx, companyID, driver.Position{}, 1))
	if err != nil || waiting.ID == uuid.Nil {
		return lowest, math.MaxInt64 - 1, err
	}
	highest, err = entryBefore(ctx, tx, float, waiting.At, indexedWithin)
	return lowest, highest, err
}
