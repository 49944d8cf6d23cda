package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// buyerIndexChecks are the checks of the index of buyers and of their list.
func buyerIndexChecks() []Check {
	return []Check{
		{"buyers/orders that the index lacks are found", grounded(ordersUnindexed)},
		{"buyers/their orders are found by the index alone", grounded(buyerOrdersIndexed)},
		{"buyers/list is in order, in pages and of its prefix", grounded(buyersListed)},
	}
}

func ordersUnindexed(ctx context.Context, s driver.Store) error {
	orders, err := boughtBy(ctx, s, emailOfAda, emailOfBob, emailOfAda, emailOfAda)
	if err != nil {
		return err
	}
	err = update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyerOrders(ctx, []driver.BuyerOrder{
			{CompanyID: companyA, Email: emailOfAda, Number: 1},
			// Entries of another buyer, of another company or of no order do not belong to the order.
			{CompanyID: companyA, Email: emailOfBob, Number: 3},
			{CompanyID: companyB, Email: emailOfBob, Number: 2},
			{CompanyID: companyA, Email: emailOfAda, Number: 90},
		})
	})
	if err != nil {
		return err
	}
	query := driver.UnindexedQuery{CompanyID: companyA, Through: 99}
	above, through, before := query, query, query
	above.Above, through.Through, before.Before = 2, 3, orders[2].ConfirmedAt
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", []uuid.UUID{orders[1].ID, orders[2].ID, orders[3].ID}).from(tx.UnindexedOrders(ctx, query)),
			want("above", []uuid.UUID{orders[2].ID, orders[3].ID}).from(tx.UnindexedOrders(ctx, above)),
			want("through", []uuid.UUID{orders[1].ID, orders[2].ID}).from(tx.UnindexedOrders(ctx, through)),
			want("before", []uuid.UUID{orders[1].ID}).from(tx.UnindexedOrders(ctx, before)),
		)
	})
}

func buyerOrdersIndexed(ctx context.Context, s driver.Store) error {
	orders, err := boughtBy(ctx, s, emailOfAda, emailOfBob, emailOfAda, emailOfAda, emailOfAda)
	if err != nil {
		return err
	}
	entry := func(email string, number int64) driver.BuyerOrder {
		return driver.BuyerOrder{CompanyID: companyA, Email: email, Number: number}
	}
	put := func(entries ...driver.BuyerOrder) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyerOrders(ctx, entries) }
	}
	remove := func(email string, numbers ...int64) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			return tx.DeleteBuyerOrders(ctx, driver.BuyerRef{CompanyID: companyA, Email: email}, numbers)
		}
	}
	ada := driver.OrderQuery{CompanyID: companyA, BuyerEmail: emailOfAda, Indexed: true, Limit: 9}
	lists := func(what string, query driver.OrderQuery, listed ...driver.Order) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want(what, listed).from(tx.ListOrders(ctx, query))
			})
		}
	}
	first, above, limited, ofEvent, ofStatus := ada, ada, ada, ada, ada
	first.After, above.AboveNumber, limited.Limit, ofEvent.EventID = 4, 1, 1, id(90)
	ofStatus.Statuses = []driver.OrderStatus{driver.OrderRefunded, driver.OrderConfirmed}
	return steps(
		lists("before there is an entry", ada),
		func() error { return failing(ctx, s, put(entry(emailOfAda, 1))) },
		lists("after an Update that failed", ada),
		func() error {
			return update(ctx, s, put(entry(emailOfAda, 4), entry(emailOfBob, 2), entry(emailOfAda, 1), entry(emailOfAda, 3)))
		},
		// An existing entry stays, and the search skips an entry of an order that is not the buyer's.
		func() error { return update(ctx, s, put(entry(emailOfAda, 4), entry(emailOfAda, 2))) },
		lists("with entries", ada, orders[3], orders[2], orders[0]),
		lists("lower numbers", first, orders[2], orders[0]),
		lists("higher numbers", above, orders[3], orders[2]),
		lists("the first", limited, orders[3]),
		lists("of another event", ofEvent),
		lists("of statuses", ofStatus, orders[3], orders[2], orders[0]),
		func() error { return failing(ctx, s, remove(emailOfAda, 4)) },
		lists("after a removal that failed", ada, orders[3], orders[2], orders[0]),
		func() error { return update(ctx, s, remove(emailOfAda, 4, 9, 3)) },
		func() error { return update(ctx, s, remove("nobody@example.com", 1)) },
		func() error { return update(ctx, s, remove(emailOfAda)) },
		lists("after a removal", ada, orders[0]),
	)
}

func buyersListed(ctx context.Context, s driver.Store) error {
	emails := []string{
		"B@example.com", "ada@example.com", "ada_@example.com", "adb@example.com", "é@example.com", "\uFFFD", "😀",
	}
	buyers := make([]driver.Buyer, len(emails))
	for i, email := range emails {
		buyers[i] = newBuyer(companyA, email)
	}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyers(ctx, []driver.Buyer{
			buyers[3], buyers[6], buyers[0], newBuyer(companyB, "ada@example.org"), buyers[5], buyers[1], buyers[4], buyers[2],
		})
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for prefix, order := range map[string][]driver.Buyer{
			"": buyers, "ada": buyers[1:3], "ad": buyers[1:4], "ada_": buyers[2:3], "z": nil, "é": buyers[4:5], "%": nil,
		} {
			err := pages(order, func(after *driver.Buyer, limit int) ([]driver.Buyer, error) {
				query := driver.BuyerQuery{CompanyID: companyA, Prefix: prefix, Limit: limit}
				if after != nil {
					query.After = after.Email
				}
				return tx.ListBuyers(ctx, query)
			})
			if err != nil {
				return fmt.Errorf("that begin with %q: %w", prefix, err)
			}
		}
		return nil
	})
}
