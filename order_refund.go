package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/sales"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// RefundParams are the reason for a refund and whether its admissions go back on sale.
type RefundParams struct {
	Reason string // 1 to 500 characters on one line
	// Restock makes the admissions unsold again, at the current price of the batch that they were sold from. They are
	// cancelled where the batch was cancelled, and where the tier was cancelled and has had no new admissions since.
	// Otherwise they are paused on a draft. On an event that is cancelled or has ended it does nothing.
	Restock bool
}

// RefundOrder refunds a CONFIRMED order, once: FLOAT is credited with the gross, EARNINGS is debited with the
// commission, and the admissions no longer validate. An admission that was validated before still returns
// ALREADY_VALIDATED. The contract leaves this move to the operator (section 3.3). An order that is REFUNDED already
// stays as it is and is returned. It needs tenant_order:refund.
//
// A company that is suspended or not verified gets its money back, too. It is CONFLICT for an order that is CANCELLED,
// if a wallet is not active, if EARNINGS no longer holds the commission because it was settled, and if FLOAT would
// exceed [money.MaxBalance].
//
// With Restock on a published event, the admissions take the status of the unsold admissions of their batch. If there
// are none, they take the status of the tier, and AVAILABLE where that is SOLD_OUT.
func (o Operator) RefundOrder(ctx context.Context, orderID uuid.UUID, params RefundParams) (OrderDetail, error) {
	return o.endOrder(ctx, "order.refund", orderID, OrderRefunded, params)
}

// CancelOrder voids the admissions of a CONFIRMED order for a reason of 1 to 500 characters. No money moves, and
// nothing goes back on sale. An order that is CANCELLED already stays as it is and is returned; one that is REFUNDED is
// CONFLICT. It needs tenant_order:refund.
func (o Operator) CancelOrder(ctx context.Context, orderID uuid.UUID, reason string) (OrderDetail, error) {
	return o.endOrder(ctx, "order.cancel", orderID, OrderCancelled, RefundParams{Reason: reason})
}

// endOrder moves a CONFIRMED order to a final status, once. It first finds the order without a lock, only to learn its
// company, and then decides on the locked order. The locks follow the lock order of [driver.Store]: stock, admissions,
// wallets.
func (o Operator) endOrder(
	ctx context.Context, action string, orderID uuid.UUID, status OrderStatus, params RefundParams,
) (OrderDetail, error) {
	if err := o.holds(PermissionOrderRefund); err != nil {
		return OrderDetail{}, err
	}
	var v violations
	params.Reason = requiredText(&v, "reason", params.Reason, 1, maxReason)
	if err := v.err(); err != nil {
		return OrderDetail{}, err
	}
	var found driver.Order
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		// It names the company whose gate the transaction needs.
		found, err = o.findOrder(ctx, tx, orderID)
		return err
	})
	if err != nil {
		return OrderDetail{}, err
	}
	var shown OrderDetail
	// The gate is held shared: sales of the company go on, and the rows that a refund changes are locked one by one.
	err = o.changeShared(ctx, PermissionOrderRefund, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			// The lines are read without a lock, to find the stock: stock is locked before admissions. lockOrder then
			// reads them again.
			lines, err := tx.OrderLines(ctx, []driver.OrderNumber{found.NumberRef()})
			if err != nil {
				return err
			}
			var back *restocking
			if params.Restock {
				if back, err = lockRestock(ctx, tx, found, lines); err != nil {
					return err
				}
			}
			// From here on the status cannot change.
			order, lines, err := lockOrder(ctx, tx, found, lines)
			if err != nil {
				return err
			}
			// A repetition of the same move changes nothing; a move from the other final status is refused.
			if order.Status != OrderConfirmed && order.Status != status {
				return conflict("The order is %s.", order.Status)
			}
			if done := order.Status == status; !done {
				ending := driver.OrderEnding{
					CompanyID: order.CompanyID, Number: order.Number, OrderID: order.ID, Status: status,
					Reason: params.Reason, Restocked: back != nil, At: notBefore(at, order.ConfirmedAt),
				}
				if err := writeEnding(ctx, tx, order, lines, back, ending); err != nil {
					return err
				}
				err := o.audit(ctx, tx, at, action, order.CompanyID, about("order", order.ID),
					changes{auditedOrder(order), auditedEnding(ending)})
				if err != nil {
					return err
				}
				// The result shows the new status; the record in the store was changed by writeEnding.
				order.Status = status
			}
			// The result is read within the transaction, under the locks, so its parts agree.
			shown, err = firstRecord(showDetails(ctx, tx, []driver.Order{order}))
			return err
		})
	if err != nil {
		return OrderDetail{}, err
	}
	return shown, nil
}

// auditedOrder returns what the audit log keeps of an order before it was ended. It leaves out the buyer.
func auditedOrder(o driver.Order) any {
	return map[string]any{"status": o.Status}
}

// auditedEnding returns what the audit log keeps of an order after it was ended.
func auditedEnding(e driver.OrderEnding) any {
	return map[string]any{"status": e.Status, "reason": e.Reason, "restocked": e.Restocked}
}

// lockOrder locks the admissions of an order, of which there is at least one, and then reads the order. Everything that
// ends an order or validates one of its admissions holds this lock first. So of two endings the second one sees the
// first. A scan either sees the admission voided, or the ending sees the scan.
func lockOrder(
	ctx context.Context, tx driver.Tx, order driver.Order, lines []driver.Admission,
) (driver.Order, []driver.Admission, error) {
	refs := make([]driver.AdmissionRef, len(lines))
	for i, line := range lines {
		refs[i] = driver.AdmissionRef{CompanyID: line.CompanyID, ID: line.ID}
	}
	locked, err := tx.LockAdmissions(ctx, refs)
	if err != nil {
		return driver.Order{}, nil, err
	}
	// This read begins after the lock was granted, so it sees an ending that committed before.
	present, err := firstRecord(tx.Orders(ctx, []driver.OrderRef{{CompanyID: order.CompanyID, ID: order.ID}}))
	return present, locked, err
}

// writeEnding writes the end of a CONFIRMED order: stock, money, admissions, status and the record of why. The caller
// has locked the stock and the admissions.
//
// Stock comes first and money last among the locks, and the admissions were locked in between. The ending is written
// after the money, whose sequences it names.
func writeEnding(
	ctx context.Context, tx driver.Tx, order driver.Order, lines []driver.Admission, back *restocking,
	ending driver.OrderEnding,
) error {
	if back != nil {
		if err := back.keep(ctx, tx, lines, ending.At); err != nil {
			return err
		}
	}
	// A ticket that admits nobody is not sent any more.
	reason := reasonRefunded
	if ending.Status == OrderCancelled {
		reason = reasonCancelled
	}
	number := []driver.OrderNumber{order.NumberRef()}
	if err := cancelNotifications(ctx, tx, ending.At, number, reason, false); err != nil {
		return err
	}
	var uncounted int64
	if ending.Status == OrderRefunded {
		var err error
		if uncounted, err = uncountedOf(ctx, tx, order.CompanyID); err != nil {
			return err
		}
		if err := refund(ctx, tx, order, &ending); err != nil {
			return err
		}
	}
	for i := range lines {
		lines[i].Voided = true
	}
	if err := tx.UpdateAdmissions(ctx, lines); err != nil {
		return err
	}
	if err := tx.UpdateOrderStatus(ctx, order.NumberRef(), ending.Status); err != nil {
		return err
	}
	if err := tx.AppendOrderEnding(ctx, ending); err != nil {
		return err
	}
	// The refund of an order that is not in the sums yet is counted with the order.
	if ending.Status != OrderRefunded || order.Number <= uncounted {
		return nil
	}
	tally := sales.Tally{}
	sales.Refunded(&order, lines, ending.At, tally.Add)
	return tx.AddSales(ctx, tally.Sums())
}

// refund moves the money of an order back and sets both sequences and the time of ending. The two ledger entries have
// one time, which is not before the last entry of either wallet. The wallets are locked here, last in the lock order.
func refund(ctx context.Context, tx driver.Tx, order driver.Order, ending *driver.OrderEnding) error {
	wallets, err := tx.LockWallets(ctx, driver.WalletRefs(order.CompanyID))
	if err != nil {
		return err
	}
	float, earnings := &wallets[0], &wallets[1]
	switch {
	case !isUsable(*float):
		return errFloatInactive
	case !isUsable(*earnings):
		return errEarningsInactive
	case earnings.Balance < order.Commission:
		return conflict("EARNINGS does not hold the commission of the order any more.")
	}
	// One time for both entries, since they are one event. Times along each chain must not decrease.
	at := notBefore(notBefore(ending.At, float.LastAt), earnings.LastAt)
	credit, err := moveWallet(float, ledger.CheckoutRefund, order.Gross, order.ID.String(), at)
	if errors.Is(err, ledger.ErrOverflow) {
		return conflict("FLOAT would pass its maximum of %s.", money.MaxBalance)
	}
	if err != nil {
		return fmt.Errorf("ticketing: refund FLOAT: %w", err)
	}
	reversal, err := moveWallet(earnings, ledger.CommissionReversal, -order.Commission, order.ID.String(), at)
	if err != nil {
		return fmt.Errorf("ticketing: take back the commission: %w", err)
	}
	// moveWallet may have used a later time than the clock's, and the ending has the time of its money.
	ending.FloatSequence, ending.EarningsSequence, ending.At = credit.Sequence, reversal.Sequence, credit.At
	return keepMoves(ctx, tx, []*driver.LockedWallet{float, earnings}, credit, reversal)
}

// OrderEnding is the refund or cancellation of an order, as an operator sees it.
//
// An order ends at most once: the same call again changes nothing.
type OrderEnding struct {
	Reason string `json:"reason"`
	// Restocked means that the order's admissions count as unsold. In a tier that was cancelled they are not on sale.
	Restocked bool `json:"restocked"`
	At        Time `json:"at"`
}
