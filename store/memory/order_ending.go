package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type endings struct {
	byNumber  map[driver.OrderNumber]driver.OrderEnding
	ofCompany map[uuid.UUID]*index[int64]
}

func newEndings() endings {
	return endings{
		byNumber:  make(map[driver.OrderNumber]driver.OrderEnding),
		ofCompany: make(map[uuid.UUID]*index[int64]),
	}
}

func (e *endings) find(number driver.OrderNumber) driver.OrderEnding {
	return e.byNumber[number]
}

func (r reading) OrderEndings(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.OrderEnding, error) {
	return ask(ctx, r, func(s *state) []driver.OrderEnding { return each(orders, s.endings.find) })
}

func (r reading) ListOrderEndings(
	ctx context.Context, query driver.OrderEndingQuery,
) ([]driver.OrderEnding, error) {
	return ask(ctx, r, func(s *state) []driver.OrderEnding {
		of, ok := s.endings.ofCompany[query.CompanyID]
		if !ok {
			return nil
		}
		return each(of.after(query.After, query.Limit), func(number int64) driver.OrderEnding {
			return s.endings.find(driver.OrderNumber{CompanyID: query.CompanyID, Number: number})
		})
	})
}

func (tx *updating) AppendOrderEnding(ctx context.Context, ending driver.OrderEnding) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ending.At = moment(ending.At)
		refunded := ending.Status == driver.OrderRefunded && ending.FloatSequence >= 1 && ending.EarningsSequence >= 1
		cancelled := ending.Status == driver.OrderCancelled && ending.FloatSequence == 0 &&
			ending.EarningsSequence == 0 && !ending.Restocked
		if err := check(refunded || cancelled, "order_endings_status_check"); err != nil {
			return err
		}
		number := driver.OrderNumber{CompanyID: ending.CompanyID, Number: ending.Number}
		if err := create(u, s.endings.byNumber, number, ending, "order_endings_pkey"); err != nil {
			return err
		}
		need(s.endings.ofCompany, ending.CompanyID, func() *index[int64] {
			return newIndex(cmp.Compare[int64])
		}).add(u, ending.Number)
		if !ending.Restocked {
			return nil
		}
		for _, line := range s.orders.linesOf(number) {
			event := driver.EventRef{CompanyID: line.CompanyID, ID: line.EventID}
			if of := s.inventory.find(event, line.Tier); of != nil {
				set(u, &of.restocked, of.restocked+1)
			}
		}
		return nil
	})
}

func (tx *updating) UpdateOrderStatus(
	ctx context.Context, number driver.OrderNumber, status driver.OrderStatus,
) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		order, ok := s.orders.byNumber[number]
		if !ok {
			return driver.ErrNotFound
		}
		event := driver.EventRef{CompanyID: order.CompanyID, ID: order.EventID}
		s.orders.ofCompany[order.CompanyID].move(u, order.Number, order.Status, status)
		s.orders.ofEvent[event].move(u, order.Number, order.Status, status)
		order.Status = status
		put(u, s.orders.byNumber, number, order)
		return nil
	})
}
