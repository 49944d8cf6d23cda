package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// CompanyBuyer is a buyer of a company as the latest checkout knew them. It is linked to the user with the same email.
// Without such a user it is a dormant record without a password (section 1, item 7). The link is for fulfilment and the
// life of a ticket, not for marketing.
//
// It holds personal data, so it has its own permission.
type CompanyBuyer struct {
	Email     string     `json:"email"`
	Fullname  *string    `json:"fullname"`
	Phone     *string    `json:"phone"`
	UserID    *uuid.UUID `json:"userId"` // nil: dormant
	CreatedAt Time       `json:"createdAt"`
	UpdatedAt Time       `json:"updatedAt"`
}

// BuyerErasure is the result of [Operator.EraseBuyer].
type BuyerErasure struct {
	// Erased reports whether there was anything to erase.
	Erased bool `json:"erased"`
	// Orders is the number of orders from which the buyer was erased.
	Orders int `json:"orders"`
}

// ErasurePreview is what [Operator.EraseBuyer] would erase.
type ErasurePreview struct {
	// Email is the email that was asked for, without surrounding white space and in lower case.
	Email string `json:"email"`
	// Buyer is the record of the buyer; nil: nobody has this email.
	Buyer *CompanyBuyer `json:"buyer"`
	// Orders is the number of their orders, counted to at most a hundred.
	Orders int `json:"orders"`
	// More reports that there are more orders than were counted.
	More bool `json:"more"`
}

// erasedDomain is the domain of the emails of erased buyers. It can never exist (RFC 2606).
const erasedDomain = "@erased.invalid"

// erasurePage is how many orders an erasure writes in one transaction. The company's sales wait for that
// transaction.
const erasurePage = 1000

// GetBuyer returns a buyer of a company by their email. It needs COMPANY:buyer:read. An unknown email is NOT_FOUND, as
// is that of an erased buyer.
func (o Operator) GetBuyer(ctx context.Context, companyID uuid.UUID, email string) (CompanyBuyer, error) {
	if err := o.allow(PermissionBuyerRead, companyID); err != nil {
		return CompanyBuyer{}, err
	}
	ref, err := buyerRef(companyID, email)
	if err != nil {
		return CompanyBuyer{}, err
	}
	var found CompanyBuyer
	// The user is looked up with the buyer, since the link is the email itself (section 1, item 7).
	err = o.view(ctx, PermissionBuyerRead, companyID, func(ctx context.Context, tx driver.ReadTx) error {
		buyer, err := firstRecord(tx.Buyers(ctx, []driver.BuyerRef{ref}))
		if err != nil {
			return err
		}
		if buyer.CompanyID == uuid.Nil {
			return notFound("The buyer")
		}
		found, err = firstRecord(showBuyers(ctx, tx, []driver.Buyer{buyer}))
		return err
	})
	if err != nil {
		return CompanyBuyer{}, err
	}
	return found, nil
}

// PreviewErasure returns what [Operator.EraseBuyer] would erase, as of one moment, and changes nothing. It finds the
// orders as [Operator.ListOrders] does. A buyer who does not exist, or who is erased already, is no error. It needs
// COMPANY:buyer:erase and COMPANY:buyer:read.
func (o Operator) PreviewErasure(ctx context.Context, companyID uuid.UUID, email string) (ErasurePreview, error) {
	for _, permission := range []Permission{PermissionBuyerErase, PermissionBuyerRead} {
		if err := o.allow(permission, companyID); err != nil {
			return ErasurePreview{}, err
		}
	}
	ref, err := buyerRef(companyID, email)
	if err != nil {
		return ErasurePreview{}, err
	}
	var preview ErasurePreview
	err = o.snapshot(ctx, PermissionBuyerErase, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			preview = ErasurePreview{Email: ref.Email}
			query := driver.OrderQuery{CompanyID: companyID, BuyerEmail: ref.Email, Limit: MaxPageLimit + 1}
			announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
				_, _ = showBuyers(ctx, tx, []driver.Buyer{{Email: ref.Email}})
			})
			announceSearch(ctx, tx, companyID, indexedNumbers)
			buyer, err := firstRecord(tx.Buyers(ctx, []driver.BuyerRef{ref}))
			if err != nil || buyer.CompanyID == uuid.Nil {
				return err
			}
			shown, err := firstRecord(showBuyers(ctx, tx, []driver.Buyer{buyer}))
			if err != nil {
				return err
			}
			orders, err := searchOrdersOfExistingBuyer(ctx, tx, query, indexedNumbers)
			preview.Buyer, preview.More = &shown, len(orders) > MaxPageLimit
			preview.Orders = min(len(orders), MaxPageLimit)
			return err
		})
	if err != nil {
		return ErasurePreview{}, err
	}
	return preview, nil
}

// EraseBuyer erases a buyer from a company's records for good. The email in each of their orders becomes
// erased-ORDER@erased.invalid, with the id of the order, and the name and the phone become null. Their own record is
// emptied. Ticket mails that wait are cancelled, and the addresses of copies that went elsewhere are removed. Amounts,
// ledger, admissions and validations stay as they are, and tickets stay valid.
//
// It runs a transaction for each thousand orders, so that the company's sales go on between them. The last transaction
// empties the buyer's own record, and it proves that no order of theirs is left. An erasure that was interrupted leaves
// that record in place. The same call again finishes the work and counts what was left. Each transaction has an entry
// in the audit log, and the last one says that the erasure is complete.
//
// Afterwards a list of orders by the old email is empty, the replay of an idempotency key shows the erased buyer, and a
// later checkout with the same email creates a new buyer. A buyer who does not exist, or who is erased already, is no
// error. A user with the email does not belong to the company and stays. It needs COMPANY:buyer:erase.
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
		page, err := e.find(ctx)
		if err != nil {
			return BuyerErasure{}, err
		}
		if done, err = e.erase(ctx, page); err != nil {
			return BuyerErasure{}, err
		}
	}
	return e.erasure, nil
}

// An eraser erases a buyer from their orders in passes. A pass goes through the orders that exist when it begins,
// newest first. The next pass goes through those that were made meanwhile. The numbers of a company's orders ascend,
// and an order never gets another buyer once it is made, so no order has to be read twice.
type eraser struct {
	o       Operator
	ref     driver.BuyerRef
	id      uuid.UUID // of the emptied record
	through int64     // no order up to this number is the buyer's
	head    int64     // the highest number when the pass began; 0: no pass is running
	before  int64     // no order from this number to head is the buyer's
	erasure BuyerErasure
}

// find reads the next page of a pass, without a lock. A page that is not full ends the pass. Only erase, under the
// gate, decides on what it finds.
//
// It passes over the orders that earlier pages and passes have shown not to be the buyer's. A run of the transaction
// that is repeated starts from the same place, since e changes only at the end of it.
func (e *eraser) find(ctx context.Context) ([]driver.Order, error) {
	var orders []driver.Order
	err := e.o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		head, before := e.head, e.before
		// Orders have the numbers of FLOAT entries, so a pass begins with the newest entry.
		if head == 0 {
			float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(e.ref.CompanyID)[:1]))
			if err != nil {
				return err
			}
			head, before = float.Sequence, float.Sequence+1
		}
		var err error
		orders, err = searchEveryOrder(ctx, tx, driver.OrderQuery{
			CompanyID: e.ref.CompanyID, BuyerEmail: e.ref.Email, AboveNumber: e.through, After: before, Limit: erasurePage,
		})
		e.head, e.before = head, before
		return err
	})
	return orders, err
}

// erase erases the buyer from a page of their orders. It reports done after it has emptied the buyer's record, which it
// does once no order is left.
//
// The page was read without a lock, so each of its orders is read again here, under the gate.
func (e *eraser) erase(ctx context.Context, page []driver.Order) (done bool, err error) {
	var orders int
	var complete bool
	// The exclusive gate keeps out a checkout that would bring the buyer back half-way.
	err = e.o.changeExclusive(ctx, PermissionBuyerErase, e.ref.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			orders, complete, done = 0, false, false
			// The buyer's own record is the mark of an erasure that is not complete: it is emptied last.
			buyer, err := firstRecord(tx.Buyers(ctx, []driver.BuyerRef{e.ref}))
			// There never was such a buyer, or another erasure has finished.
			if err != nil || buyer.Email == "" {
				done = true
				return err
			}
			found, err := e.present(ctx, tx, page)
			if err != nil {
				return err
			}
			if len(page) < erasurePage {
				// If there are more than fit into this transaction, another pass takes them.
				late, err := e.late(ctx, tx)
				if err != nil {
					return err
				}
				if complete = len(late) <= erasurePage; complete {
					found = append(found, late...)
				}
			}
			gone, entries := make([]int64, len(found)), make([]driver.BuyerOrder, len(found))
			for i := range found {
				gone[i] = found[i].Number
				found[i].BuyerEmail, found[i].BuyerFullname, found[i].BuyerPhone = erasedEmail(found[i].ID), "", ""
				entries[i] = buyerOrder(found[i])
			}
			// Each order gets an email of its own, so that the orders of one erased person cannot be linked by it.
			if err := tx.UpdateOrderBuyers(ctx, found); err != nil {
				return err
			}
			// An entry for each order, also for one that had none yet, which its dispatch would add anyhow.
			if err := tx.DeleteBuyerOrders(ctx, e.ref, gone); err != nil {
				return err
			}
			if err := tx.PutBuyerOrders(ctx, entries); err != nil {
				return err
			}
			// The bodies of webhook events that were rendered with the buyer are removed as well.
			if err := tx.ForgetMessages(ctx, found); err != nil {
				return err
			}
			// Their ticket mails are not sent any more, and the addresses that copies went to are removed.
			numbers := make([]driver.OrderNumber, len(found))
			for i, order := range found {
				numbers[i] = order.NumberRef()
			}
			if err := cancelNotifications(ctx, tx, at, numbers, reasonErased, true); err != nil {
				return err
			}
			if complete {
				buyer.Email, buyer.Fullname, buyer.Phone = erasedEmail(e.id), "", ""
				buyer.UpdatedAt = notBefore(at, buyer.UpdatedAt)
				if err := tx.ReplaceBuyer(ctx, e.ref, buyer); err != nil {
					return err
				}
			}
			// A page that another erasure has emptied is not audited.
			if orders, done = len(found), complete; orders == 0 && !complete {
				return nil
			}
			return e.o.audit(ctx, tx, at, "buyer.erase", e.ref.CompanyID, about("company", e.ref.CompanyID),
				changes{after: map[string]any{"orders": orders, "complete": complete}})
		})
	if err != nil {
		return false, err
	}
	// The counts are added after the commit, since a run that is repeated would count twice.
	e.erasure.Orders += orders
	e.erasure.Erased = e.erasure.Erased || complete || orders > 0
	// The transaction has committed. A full page is followed by the next one, and any other ends the pass.
	if len(page) < erasurePage {
		e.through, e.head = e.head, 0
	} else {
		e.before = page[len(page)-1].Number
	}
	return done, nil
}

// present returns those of the orders that are still the buyer's. Another erasure may have been faster.
//
// An order that another erasure has changed has another email.
func (e *eraser) present(ctx context.Context, tx driver.ReadTx, orders []driver.Order) ([]driver.Order, error) {
	refs := make([]driver.OrderRef, len(orders))
	for i, order := range orders {
		refs[i] = driver.OrderRef{CompanyID: order.CompanyID, ID: order.ID}
	}
	found, err := tx.Orders(ctx, refs)
	return slices.DeleteFunc(found, func(order driver.Order) bool { return order.BuyerEmail != e.ref.Email }), err
}

// late returns the buyer's orders that were made since the pass began, at most one more than a transaction writes. They
// are read under the exclusive gate, so no checkout adds another one before the commit.
func (e *eraser) late(ctx context.Context, tx driver.ReadTx) ([]driver.Order, error) {
	return searchEveryOrder(ctx, tx, driver.OrderQuery{
		CompanyID: e.ref.CompanyID, BuyerEmail: e.ref.Email, AboveNumber: e.head, Limit: erasurePage + 1,
	})
}

// erasedEmail returns the email that stands in place of an erased one. It is unique for each order and record. The
// domain is reserved, so no mail to it can ever arrive (RFC 2606).
func erasedEmail(id uuid.UUID) string { return "erased-" + id.String() + erasedDomain }

// buyerRef returns the reference of the buyer with an email. It normalises the email as a checkout does.
func buyerRef(companyID uuid.UUID, address string) (driver.BuyerRef, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxBuyerEmail)
	return driver.BuyerRef{CompanyID: companyID, Email: address}, v.err()
}
