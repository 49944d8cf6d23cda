package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// benchCaller makes one call at a time.
type benchCaller interface {
	call(ctx context.Context, t *benchTask) error
	// interrupt fails the current call and all later ones.
	interrupt()
}

// benchTask is one call.
type benchTask struct {
	shop      *benchShop
	admission soldAdmission
	turn      int64
	id        string // unique among all calls
}

var errNotAdmitted = errors.New("an admission that nobody had validated was not admitted")

// libraryCaller calls the service as an embedding host does.
type libraryCaller struct {
	svc   *ticketing.Service
	store driver.Store
	op    benchOp
	qty   int
}

func (*libraryCaller) interrupt() {} // The context interrupts the calls.

func (c *libraryCaller) call(ctx context.Context, t *benchTask) error {
	caller := t.shop.caller()
	switch c.op {
	case opCheckout:
		_, err := c.svc.Checkout(ctx, caller, t.key(), t.checkout(c.qty))
		return err
	case opValidate:
		scan, err := c.svc.ValidateAdmission(ctx, caller, t.admission.Event, t.admission.Admission, t.key(),
			ticketing.ValidateParams{Location: benchGate})
		if err == nil && scan.Outcome != ticketing.OutcomeAdmitted {
			err = errNotAdmitted
		}
		return err
	case opQuote:
		_, err := c.svc.Quote(ctx, caller, ticketing.QuoteParams{
			EventID: t.shop.Event, Lines: []ticketing.QuoteParamsLine{{Tier: t.quoted(), Quantity: c.qty}},
		})
		return err
	case opDispatch:
		return dispatchSome(ctx, c.store, t.shop.Company)
	default:
		var err error
		switch t.reading(c.op) {
		case readOrder:
			_, err = c.svc.GetOrder(ctx, caller, t.order())
		case readOrders:
			_, err = c.svc.ListOrders(ctx, caller, ticketing.OrderFilter{})
		default:
			_, err = c.svc.GetEvent(ctx, caller, t.shop.Event)
		}
		return err
	}
}

// The buyer's name and mail domain, and the location of validations.
const (
	benchBuyer = "Ada Obi"
	benchMail  = "@buyers.example"
	benchGate  = "Gate 1"
)

func (t *benchTask) key() string { return "bench-" + t.id }

func (t *benchTask) buyer() string { return t.id + benchMail }

func (t *benchTask) checkout(qty int) ticketing.CheckoutParams {
	return ticketing.CheckoutParams{
		EventID: t.shop.Event, Buyer: ticketing.BuyerParams{Email: t.buyer(), Fullname: benchBuyer},
		Lines: []ticketing.CheckoutLine{{
			Tier: benchTier, Quantity: qty, ExpectedUnitPrice: benchPrice, Currency: money.Currency,
		}},
	}
}

func (t *benchTask) quoted() string {
	tiers := quotedTiers()
	return tiers[t.turn%int64(len(tiers))]
}

// The kinds of reads. Half of the mixed reads fetch one order.
const (
	readOrder = iota
	readOrders
	readEvent
)

func (t *benchTask) reading(op benchOp) int {
	switch op {
	case opOrder:
		return readOrder
	case opOrders:
		return readOrders
	default:
	}
	switch t.turn / 7 % 4 { // 7 does not divide common numbers of companies.
	case 0, 2:
		return readOrder
	case 1:
		return readOrders
	default:
		return readEvent
	}
}

func (t *benchTask) order() uuid.UUID { return t.shop.Orders[t.turn%int64(len(t.shop.Orders))] }
