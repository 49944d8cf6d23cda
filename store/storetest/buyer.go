package storetest

import (
	"context"
	"fmt"

	"github.com/floatgate/ticketing/driver"
)

func buyerChecks() []Check {
	return []Check{
		{"buyers/orders take another buyer and nothing else", grounded(orderBuyersUpdated)},
		{"buyers/a record takes the place of another", grounded(buyerReplaced)},
	}
}

const emailOfAda, emailOfBob = "ada@example.com", "bob@example.com"

// boughtBy appends orders of companyA with these buyers, numbered from 1, and one of the first buyer in companyB.
func boughtBy(ctx context.Context, s driver.Store, emails ...string) ([]driver.Order, error) {
	var orders []driver.Order
	for i, email := range emails {
		order := newOrder(eventA, int64(i+1))
		order.BuyerEmail = email
		orders = append(orders, order)
	}
	other := newOrder(eventB, 1)
	other.BuyerEmail = emails[0]
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendOrders(ctx, append([]driver.Order{other}, orders...))
	})
	if err != nil {
		return nil, fmt.Errorf("append orders: %w", err)
	}
	return orders, nil
}

func orderBuyersUpdated(ctx context.Context, s driver.Store) error {
	orders, err := boughtBy(ctx, s, emailOfAda, emailOfBob, emailOfAda)
	if err != nil {
		return err
	}
	changed := []driver.Order{orders[2], orders[0]}
	for i := range changed {
		changed[i].BuyerEmail, changed[i].BuyerFullname, changed[i].BuyerPhone = fmt.Sprint("erased-", i), "", "0"
	}
	spoilt := append([]driver.Order(nil), changed...)
	for i := range spoilt {
		spoilt[i].Gross, spoilt[i].Status, spoilt[i].ID = 1, driver.OrderRefunded, id(90+i)
	}
	missing := newOrder(eventA, 9)
	write := func(orders []driver.Order) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.UpdateOrderBuyers(ctx, orders) }
	}
	lists := func(orders ...driver.Order) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("list", orders).from(tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, Limit: 9}))
		})
	}
	return steps(
		func() error { return failing(ctx, s, write(spoilt)) },
		func() error { return lists(orders[2], orders[1], orders[0]) },
		func() error { return update(ctx, s, write(spoilt)) },
		func() error { return lists(changed[0], orders[1], changed[1]) },
		func() error { return update(ctx, s, write(nil)) },
		func() error {
			return misses("an order that is not there", update(ctx, s, write([]driver.Order{missing})))
		},
	)
}

func buyerReplaced(ctx context.Context, s driver.Store) error {
	first, second := newBuyer(companyA, emailOfAda), newBuyer(companyA, emailOfBob)
	other := newBuyer(companyB, emailOfAda)
	erased := first
	erased.Email, erased.Fullname, erased.Phone, erased.UpdatedAt = "erased", "", "", at(20)
	replace := func(ref driver.BuyerRef, buyer driver.Buyer) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.ReplaceBuyer(ctx, ref, buyer) }
	}
	refs := []driver.BuyerRef{
		{CompanyID: companyA, Email: emailOfAda},
		{CompanyID: companyA, Email: emailOfBob},
		{CompanyID: companyB, Email: emailOfAda},
		{CompanyID: companyA, Email: "erased"},
	}
	holds := func(buyers ...driver.Buyer) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("buyers", buyers).from(tx.Buyers(ctx, refs))
		})
	}
	none := driver.Buyer{}
	taken := erased
	taken.Email = emailOfBob
	return steps(
		func() error {
			return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.PutBuyers(ctx, []driver.Buyer{first, second, other})
			})
		},
		func() error { return failing(ctx, s, replace(refs[0], erased)) },
		func() error { return holds(first, second, other, none) },
		func() error { return refuses("an email that is taken", update(ctx, s, replace(refs[0], taken))) },
		func() error { return update(ctx, s, replace(refs[0], erased)) },
		func() error { return holds(none, second, other, erased) },
		func() error { return misses("again", update(ctx, s, replace(refs[0], erased))) },
	)
}
