package bench

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// caller makes one call at a time.
type caller interface {
	call(ctx context.Context, t *task) error
	// interrupt fails the current call and all later ones.
	interrupt()
}

// task is one call.
type task struct {
	shop      *shop
	admission soldAdmission
	turn      int64
	id        string // unique among all calls
}

var errNotAdmitted = errors.New("an admission that nobody had validated was not admitted")

// libraryCaller calls the service as an embedding host does.
type libraryCaller struct {
	svc   *ticketing.Service
	store driver.Store
	op    Op
	qty   int
}

func (*libraryCaller) interrupt() {} // The context interrupts the calls.

func (c *libraryCaller) call(ctx context.Context, t *task) error {
	caller := t.shop.caller()
	switch c.op {
	case OpCheckout:
		_, err := c.svc.Checkout(ctx, caller, t.key(), t.checkout(c.qty))
		return err
	case OpValidate:
		scan, err := c.svc.ValidateAdmission(ctx, caller, t.admission.Event, t.admission.Admission, t.key(),
			ticketing.ValidateParams{Location: gate})
		if err == nil && scan.Outcome != ticketing.OutcomeAdmitted {
			err = errNotAdmitted
		}
		return err
	case OpQuote:
		_, err := c.svc.Quote(ctx, caller, ticketing.QuoteParams{
			EventID: t.shop.Event, Lines: []ticketing.QuoteLineParams{{Tier: t.quoted(), Quantity: c.qty}},
		})
		return err
	case OpDispatch:
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
	buyerName  = "Ada Obi"
	mailDomain = "@buyers.example"
	gate       = "Gate 1"
)

func (t *task) key() string { return "bench-" + t.id }

func (t *task) buyer() string { return t.id + mailDomain }

func (t *task) checkout(qty int) ticketing.CheckoutParams {
	return ticketing.CheckoutParams{
		EventID: t.shop.Event, Buyer: ticketing.BuyerParams{Email: t.buyer(), Fullname: buyerName},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: shopTier, Quantity: qty, ExpectedUnitPrice: shopPrice, Currency: money.Currency,
		}},
	}
}

func (t *task) quoted() string {
	tiers := quotedTiers()
	return tiers[t.turn%int64(len(tiers))]
}

// The kinds of reads. Half of the mixed reads fetch one order.
const (
	readOrder = iota
	readOrders
	readEvent
)

func (t *task) reading(op Op) int {
	switch op {
	case OpOrder:
		return readOrder
	case OpOrders:
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

func (t *task) order() uuid.UUID { return t.shop.Orders[t.turn%int64(len(t.shop.Orders))] }
