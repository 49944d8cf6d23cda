package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// CompanyBuyer is a buyer of a company as the latest checkout knew them. It is linked to the user of the same email, and
// is a dormant record without a password where there is none (section 1, item 7). The link is for fulfilment and the
// life of tickets, not for marketing.
type CompanyBuyer struct {
	Email     string     `json:"email"`
	Fullname  *string    `json:"fullname"`
	Phone     *string    `json:"phone"`
	UserID    *uuid.UUID `json:"userId"` // nil: dormant
	CreatedAt Time       `json:"createdAt"`
	UpdatedAt Time       `json:"updatedAt"`
}

// BuyerErasure tells what an erasure took away.
type BuyerErasure struct {
	// Erased tells whether there was anything.
	Erased bool `json:"erased"`
	// Orders is in how many orders the buyer was.
	Orders int `json:"orders"`
}

// erasedDomain is where the emails of erased buyers point to: nowhere, ever (RFC 2606).
const erasedDomain = "@erased.invalid"

// erasurePortion is how many orders an erasure writes in one transaction, which the company's sales wait for.
const erasurePortion = 1000

// GetBuyer finds a buyer of a company by their email. It needs COMPANY:buyer:read.
func (o Operator) GetBuyer(ctx context.Context, companyID uuid.UUID, email string) (CompanyBuyer, error) {
	if err := o.allow(PermissionBuyerRead, companyID); err != nil {
		return CompanyBuyer{}, err
	}
	ref, err := buyerRef(companyID, email)
	if err != nil {
		return CompanyBuyer{}, err
	}
	var found CompanyBuyer
	err = o.view(ctx, PermissionBuyerRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		buyer, err := only(tx.Buyers(ctx, []BuyerRef{ref}))
		if err != nil {
			return err
		}
		if buyer.CompanyID == uuid.Nil {
			return notFound("The buyer")
		}
		user, err := only(tx.FindUsers(ctx, []string{ref.Email}))
		if err != nil {
			return err
		}
		found = CompanyBuyer{
			Email: buyer.Email, Fullname: optional(buyer.Fullname), Phone: optional(buyer.Phone),
			CreatedAt: Time{buyer.CreatedAt}, UpdatedAt: Time{buyer.UpdatedAt},
		}
		if user.ID != uuid.Nil {
			found.UserID = &user.ID
		}
		return nil
	})
	if err != nil {
		return CompanyBuyer{}, err
	}
	return found, nil
}

// EraseBuyer takes a buyer out of a company's records for good: the email in each of their orders becomes
// erased-ORDER@erased.invalid with the id of the order, name and phone become null, and their own record is emptied.
// Amounts, ledger, admissions and validations stay as they are, and tickets stay good.
//
// It is a transaction for each thousand orders, so that the company's sales go on between them. The buyer's own
// record is emptied in the last one, which proves that no order of theirs is left: an erasure that was cut off leaves
// it, and the same call again ends the work and counts what was left. Each transaction is an act in the audit log,
// and the last one says that it is complete.
//
// A list of orders by the old email finds nothing from then on, a repeated idempotency key answers with the erased buyer,
// and a later checkout by the same email begins anew. A buyer who is not there, or erased already, is no error. A user
// of the email is none of the company's and stays. It needs COMPANY:buyer:erase.
func (o Operator) EraseBuyer(ctx context.Context, companyID uuid.UUID, email string) (BuyerErasure, error) {
	if err := o.allowWrite(PermissionBuyerErase, companyID); err != nil {
		return BuyerErasure{}, err
	}
	ref, err := buyerRef(companyID, email)
	if err != nil {
		return BuyerErasure{}, err
	}
	e := eraser{o: o, ref: ref, id: o.s.newID()}
	for done := false; !done; {
		portion, err := e.find(ctx)
		if err != nil {
			return BuyerErasure{}, err
		}
		if done, err = e.erase(ctx, portion); err != nil {
			return BuyerErasure{}, err
		}
	}
	return e.erasure, nil
}

// An eraser takes a buyer out of their orders, pass by pass: one looks through the orders there are when it begins,
// newest first, and the next through those that were made meanwhile. The numbers of a company's orders grow, and no
// order comes to a buyer once it is made, so what a pass is through with needs no second look.
type eraser struct {
	o       Operator
	ref     BuyerRef
	id      uuid.UUID // of the emptied record
	through int64     // no order up to this number is the buyer's
	head    int64     // where the pass began; 0: it has not
	before  int64     // no order from this number to head is the buyer's
	erasure BuyerErasure
}

// find reads the next portion of a pass, beside the sales. One that is not full ends the pass.
func (e *eraser) find(ctx context.Context) ([]OrderRecord, error) {
	var orders []OrderRecord
	err := e.o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		head, before := e.head, e.before
		if head == 0 {
			float, err := only(tx.Wallets(ctx, walletRefs(e.ref.CompanyID)[:1]))
			if err != nil {
				return err
			}
			head, before = float.Sequence, float.Sequence+1
		}
		var err error
		orders, err = searchOrders(ctx, tx, OrderQuery{
			CompanyID: e.ref.CompanyID, BuyerEmail: e.ref.Email, After: e.through, Before: before, Limit: erasurePortion,
		})
		e.head, e.before = head, before
		return err
	})
	return orders, err
}

// erase takes the buyer out of a portion of their orders. It is done where that was the last one and their record is
// emptied.
func (e *eraser) erase(ctx context.Context, portion []OrderRecord) (done bool, err error) {
	var orders int
	var complete bool
	// The closed gate keeps out the checkout that would bring the buyer back half-way.
	err = e.o.change(ctx, PermissionBuyerErase, e.ref.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			orders, complete, done = 0, false, false
			buyer, err := only(tx.Buyers(ctx, []BuyerRef{e.ref}))
			if err != nil || buyer.Email == "" {
				done = true
				return err
			}
			found, err := e.present(ctx, tx, portion)
			if err != nil {
				return err
			}
			if len(portion) < erasurePortion {
				// More than fit beside the portion are left to another pass.
				late, err := e.late(ctx, tx)
				if err != nil {
					return err
				}
				if complete = len(late) <= erasurePortion; complete {
					found = append(found, late...)
				}
			}
			for i := range found {
				found[i].BuyerEmail, found[i].BuyerFullname, found[i].BuyerPhone = erasedEmail(found[i].ID), "", ""
			}
			if err := tx.UpdateOrderBuyers(ctx, found); err != nil {
				return err
			}
			if err := tx.ForgetMessages(ctx, found); err != nil {
				return err
			}
			if complete {
				buyer.Email, buyer.Fullname, buyer.Phone = erasedEmail(e.id), "", ""
				buyer.UpdatedAt = later(at, buyer.UpdatedAt)
				if err := tx.ReplaceBuyer(ctx, e.ref, buyer); err != nil {
					return err
				}
			}
			if orders, done = len(found), complete; orders == 0 && !complete {
				return nil
			}
			return e.o.audit(ctx, tx, at, "buyer.erase", e.ref.CompanyID, about("company", e.ref.CompanyID),
				changes{after: map[string]any{"orders": orders, "complete": complete}})
		})
	if err != nil {
		return false, err
	}
	e.erasure.Orders += orders
	e.erasure.Erased = e.erasure.Erased || complete || orders > 0
	if len(portion) < erasurePortion {
		e.through, e.head = e.head, 0
	} else {
		e.before = portion[len(portion)-1].Number
	}
	return done, nil
}

// present are those of the orders that are the buyer's still: another erasure may have been faster.
func (e *eraser) present(ctx context.Context, tx ReadTx, orders []OrderRecord) ([]OrderRecord, error) {
	refs := make([]OrderRef, len(orders))
	for i, order := range orders {
		refs[i] = OrderRef{CompanyID: order.CompanyID, ID: order.ID}
	}
	found, err := tx.Orders(ctx, refs)
	return slices.DeleteFunc(found, func(order OrderRecord) bool { return order.BuyerEmail != e.ref.Email }), err
}

// late are the buyer's orders that were made since the pass began, at most one more than a portion.
func (e *eraser) late(ctx context.Context, tx ReadTx) ([]OrderRecord, error) {
	return searchOrders(ctx, tx, OrderQuery{
		CompanyID: e.ref.CompanyID, BuyerEmail: e.ref.Email, After: e.head, Limit: erasurePortion + 1,
	})
}

func erasedEmail(id uuid.UUID) string { return "erased-" + id.String() + erasedDomain }

// buyerRef names the buyer of an email, as a checkout reads it.
func buyerRef(companyID uuid.UUID, address string) (BuyerRef, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxBuyerEmail)
	return BuyerRef{CompanyID: companyID, Email: address}, v.err()
}
