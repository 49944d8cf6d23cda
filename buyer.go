package ticketing

import (
	"context"
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

// erasurePage is how many orders an erasure reads and writes at a time.
const erasurePage = 1000

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
// Amounts, ledger, admissions and validations stay as they are, and tickets stay good. It is one transaction, which
// the company's sales wait for.
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
	id := o.s.newID()
	var erasure BuyerErasure
	// The closed gate keeps out the checkout that would bring the buyer back half-way.
	err = o.change(ctx, PermissionBuyerErase, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			erasure = BuyerErasure{}
			buyer, err := only(tx.Buyers(ctx, []BuyerRef{ref}))
			if err != nil || buyer.Email == "" {
				return err
			}
			orders, err := eraseOrders(ctx, tx, ref)
			if err != nil {
				return err
			}
			buyer.Email, buyer.Fullname, buyer.Phone = erasedEmail(id), "", ""
			buyer.UpdatedAt = later(at, buyer.UpdatedAt)
			if err := tx.ReplaceBuyer(ctx, ref, buyer); err != nil {
				return err
			}
			erasure = BuyerErasure{Erased: true, Orders: orders}
			return o.audit(ctx, tx, at, "buyer.erase", companyID, about("company", companyID),
				changes{after: map[string]any{"orders": orders}})
		})
	if err != nil {
		return BuyerErasure{}, err
	}
	return erasure, nil
}

// eraseOrders takes a buyer out of their orders and tells how many there were.
func eraseOrders(ctx context.Context, tx Tx, ref BuyerRef) (int, error) {
	query := OrderQuery{CompanyID: ref.CompanyID, BuyerEmail: ref.Email, Limit: erasurePage}
	for count := 0; ; {
		orders, err := searchOrders(ctx, tx, query)
		if err != nil {
			return 0, err
		}
		for i := range orders {
			orders[i].BuyerEmail, orders[i].BuyerFullname, orders[i].BuyerPhone = erasedEmail(orders[i].ID), "", ""
		}
		if err := tx.UpdateOrderBuyers(ctx, orders); err != nil {
			return 0, err
		}
		count += len(orders)
		if len(orders) < erasurePage {
			return count, nil
		}
		query.Before = orders[len(orders)-1].Number
	}
}

func erasedEmail(id uuid.UUID) string { return "erased-" + id.String() + erasedDomain }

// buyerRef names the buyer of an email, as a checkout reads it.
func buyerRef(companyID uuid.UUID, address string) (BuyerRef, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxBuyerEmail)
	return BuyerRef{CompanyID: companyID, Email: address}, v.err()
}
