package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// RefundParams say why an order is refunded, and whether its admissions count as unsold again.
type RefundParams struct {
	Reason string // 1 to 500 characters
	// Restock has the admissions count as unsold again, at the price of the batch they were sold from: cancelled where
	// the batch was cancelled, or the tier was and has had no new admissions since; else paused on a draft. On an event
	// that is cancelled or has ended it does nothing.
	Restock bool
}

// RefundOrder takes a confirmed order back, once: FLOAT gets the gross, EARNINGS gives the commission, and the
// admissions no longer validate; those that were validated before still answer ALREADY_VALIDATED (section 3.3 leaves
// the move to the operator). An order that is refunded already stays as it is. It needs tenant_order:refund.
//
// Money goes back to a company that is suspended or not verified, too. It is CONFLICT for an order that is cancelled,
// where a wallet is not active, where EARNINGS does not hold the commission any more, since it was settled, and where
// FLOAT would pass [money.MaxBalance].
//
// On a published event, what is put back takes the status of the unsold admissions of its batch. Where there were none,
// it takes what the tier shows: AVAILABLE when that is SOLD_OUT.
func (o Operator) RefundOrder(ctx context.Context, orderID uuid.UUID, params RefundParams) (OrderDetail, error) {
	return o.endOrder(ctx, "order.refund", orderID, OrderRefunded, params)
}

// CancelOrder voids the admissions of a confirmed order for a reason of 1 to 500 characters. No money moves, and
// nothing goes back on sale. An order that is cancelled already stays as it is, one that is refunded is CONFLICT. It
// needs tenant_order:refund.
func (o Operator) CancelOrder(ctx context.Context, orderID uuid.UUID, reason string) (OrderDetail, error) {
	return o.endOrder(ctx, "order.cancel", orderID, OrderCancelled, RefundParams{Reason: reason})
}

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
	var found OrderRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		found, err = o.findOrder(ctx, tx, orderID)
		return err
	})
	if err != nil {
		return OrderDetail{}, err
	}
	var shown OrderDetail
	err = o.share(ctx, PermissionOrderRefund, found.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			lines, err := tx.OrderLines(ctx, []OrderNumber{found.number()})
			if err != nil {
				return err
			}
			var back *restocking
			if params.Restock {
				if back, err = lockRestock(ctx, tx, found, lines); err != nil {
					return err
				}
			}
			order, lines, err := lockOrder(ctx, tx, found, lines)
			if err != nil {
				return err
			}
			if order.Status != OrderConfirmed && order.Status != status {
				return conflict("The order is %s.", order.Status)
			}
			if done := order.Status == status; !done {
				ending := OrderEndingRecord{
					CompanyID: order.CompanyID, Number: order.Number, OrderID: order.ID, Status: status,
					Reason: params.Reason, Restocked: back != nil, At: later(at, order.ConfirmedAt),
				}
				if err := end(ctx, tx, order, lines, back, ending); err != nil {
					return err
				}
				err := o.audit(ctx, tx, at, action, order.CompanyID, about("order", order.ID),
					changes{order.audited(), ending.audited()})
				if err != nil {
					return err
				}
				order.Status = status
			}
			shown, err = only(showDetails(ctx, tx, []OrderRecord{order}))
			return err
		})
	if err != nil {
		return OrderDetail{}, err
	}
	return shown, nil
}

// audited is what the audit log tells of an order that stands. Who bought is not in it.
func (o OrderRecord) audited() any {
	return map[string]any{"status": o.Status}
}

// audited is what the audit log tells of an order that was ended.
func (e OrderEndingRecord) audited() any {
	return map[string]any{"status": e.Status, "reason": e.Reason, "restocked": e.Restocked}
}

func (o OrderRecord) number() OrderNumber {
	return OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
}

// lockOrder locks the admissions of an order, of which there is at least one: whoever ends an order or validates one of
// them does so behind that lock. So of two endings the second finds the first, and a scan finds the admission voided or
// is found by the ending.
func lockOrder(
	ctx context.Context, tx Tx, order OrderRecord, lines []AdmissionRecord,
) (OrderRecord, []AdmissionRecord, error) {
	refs := make([]AdmissionRef, len(lines))
	for i, line := range lines {
		refs[i] = AdmissionRef{CompanyID: line.CompanyID, ID: line.ID}
	}
	locked, err := tx.LockAdmissions(ctx, refs)
	if err != nil {
		return OrderRecord{}, nil, err
	}
	present, err := only(tx.Orders(ctx, []OrderRef{{CompanyID: order.CompanyID, ID: order.ID}}))
	return present, locked, err
}

// end writes what ends a confirmed order.
func end(
	ctx context.Context, tx Tx, order OrderRecord, lines []AdmissionRecord, back *restocking, ending OrderEndingRecord,
) error {
	if back != nil {
		if err := back.keep(ctx, tx, lines, ending.At); err != nil {
			return err
		}
	}
	if ending.Status == OrderRefunded {
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
	if err := tx.UpdateOrderStatus(ctx, order.number(), ending.Status); err != nil {
		return err
	}
	return tx.AppendOrderEnding(ctx, ending)
}

// refund moves the money of an order back. Both movements have one time, never behind those of either wallet.
func refund(ctx context.Context, tx Tx, order OrderRecord, ending *OrderEndingRecord) error {
	wallets, err := tx.LockWallets(ctx, walletRefs(order.CompanyID))
	if err != nil {
		return err
	}
	float, earnings := &wallets[0], &wallets[1]
	switch {
	case !float.usable():
		return errFloatInactive
	case !earnings.usable():
		return errEarningsInactive
	case earnings.Balance < order.Commission:
		return conflict("EARNINGS does not hold the commission of the order any more.")
	}
	at := earnings.notBefore(float.notBefore(ending.At))
	credit, err := float.move(ledger.CheckoutRefund, order.Gross, order.ID.String(), at)
	if errors.Is(err, ledger.ErrOverflow) {
		return conflict("FLOAT would pass its maximum of %s.", money.MaxBalance)
	}
	if err != nil {
		return fmt.Errorf("ticketing: refund FLOAT: %w", err)
	}
	reversal, err := earnings.move(ledger.CommissionReversal, -order.Commission, order.ID.String(), at)
	if err != nil {
		return fmt.Errorf("ticketing: take back the commission: %w", err)
	}
	ending.FloatSequence, ending.EarningsSequence, ending.At = credit.Sequence, reversal.Sequence, credit.At
	return keepMoves(ctx, tx, []*LockedWallet{float, earnings}, credit, reversal)
}
