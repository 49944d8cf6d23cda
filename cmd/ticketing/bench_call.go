package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// benchCaller makes one call at a time.
type benchCaller interface {
	call(ctx context.Context, t *benchTask) error
	// interrupt fails the call under way, and all after it.
	interrupt()
}

// benchTask is one call.
type benchTask struct {
	shop      *benchShop
	admission soldAdmission
	turn      int64
	id        string // unlike any other
}

var errNotAdmitted = errors.New("an admission that nobody had validated was not admitted")

// libraryCaller calls the service as a host does that embeds it.
type libraryCaller struct {
	svc   *ticketing.Service
	store ticketing.Store
	op    benchOp
	qty   int
}

func (*libraryCaller) interrupt() {} // The context does it.

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

// What a buyer is called, and where admissions are validated.
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

// What a read asks for: half of the reads are of one order.
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
	switch t.turn / 7 % 4 { // 7 is no divider of common numbers of companies.
	case 0, 2:
		return readOrder
	case 1:
		return readOrders
	default:
		return readEvent
	}
}

func (t *benchTask) order() uuid.UUID { return t.shop.Orders[t.turn%int64(len(t.shop.Orders))] }
