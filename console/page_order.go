package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// orderActs returns what staff do to an order, and the export of orders.
func orderActs() []act {
	const refund = ticketing.PermissionOrderRefund
	return []act{
		newAct(act{
			name: "order.refund", scope: scopeCompany, path: orderPath + "/refund", page: orderPath, permission: refund,
			recent: true,
		}, func(m *members) ticketing.RefundParams {
			return ticketing.RefundParams{Reason: m.text("reason"), Restock: m.boolean("restock")}
		}, refundOrder),
		newAct(act{
			name: "order.cancel", scope: scopeCompany, path: orderPath + "/cancel", page: orderPath, permission: refund,
			recent: true,
		}, func(m *members) string { return m.text("reason") }, cancelOrder),
		orderExport().act(),
	}
}

// orderDetail is what the page of an order shows.
type orderDetail struct {
	Order shownOrder               `json:"order"`
	Mails []ticketing.Notification `json:"mails"` // the newest copy first
	// Movements are those of the sale and of its refund, oldest first.
	Movements []ticketing.Movement `json:"movements"`

	// Earnings is what EARNINGS holds now. It is nil for a person who cannot refund the order.
	Earnings *money.Amount `json:"-"`
}

// Unrefundable reports whether the commission was paid out, so that a refund would be refused.
func (d orderDetail) Unrefundable() bool {
	return d.Earnings != nil && *d.Earnings < d.Order.Commission.Amount
}

// Rate returns the rate of the order's commission, such as "2.5 %".
func (d orderDetail) Rate() string {
	rate := d.Order.Commission.Rate
	switch rate.Unit {
	case money.Percent:
		return rate.Value + " %"
	case money.BasisPoints:
		return rate.Value + " basis points"
	case money.Fraction:
	}
	return rate.Value + " of the price"
}

// EndedIn returns the path of the audit log with the act that ended the order, which says whose it was.
func (d orderDetail) EndedIn(log string) string {
	action := "order.refund"
	if d.Order.Status == ticketing.OrderCancelled {
		action = "order.cancel"
	}
	at := d.Order.Ending.At
	return log + "?" + url.Values{
		"action": {action}, "since": {at.Add(-time.Second).UTC().Format(time.RFC3339)},
		"until": {at.Add(2 * time.Second).UTC().Format(time.RFC3339)},
	}.Encode()
}

// loadOrder reads all parts by the id, so that they do not need the order itself.
func loadOrder(ctx context.Context, c *call) (view, error) {
	id := c.pathID("orderId")
	shown := orderDetail{Mails: []ticketing.Notification{}}
	loads := []func(context.Context) error{func(ctx context.Context) error {
		order, err := ownOrderDetail(ctx, c)
		shown.Order = shownOrder{order}
		return err
	}}
	if holds(c.actor, ticketing.PermissionNotificationRead) {
		loads = append(loads, func(ctx context.Context) error {
			mails, err := c.operator.ListNotifications(ctx, c.companyID,
				ticketing.NotificationFilter{OrderID: id}, ticketing.PageParams{})
			shown.Mails = mails.Items
			return err
		})
	}
	var movements [2]ticketing.Page[ticketing.Movement]
	if holds(c.actor, ticketing.PermissionWalletRead) {
		for i, wallet := range []ledger.Wallet{ledger.Float, ledger.Earnings} {
			loads = append(loads, func(ctx context.Context) (err error) {
				movements[i], err = c.operator.ListMovements(ctx, c.companyID,
					ticketing.MovementFilter{Wallet: wallet, Reference: id.String()})
				return err
			})
		}
		if c.may(c.console.acts["order.refund"]) {
			loads = append(loads, func(ctx context.Context) error {
				wallets, err := c.operator.GetWallets(ctx, c.companyID)
				shown.Earnings = &wallets.Earnings
				return err
			})
		}
	}
	if err := together(ctx, loads...); err != nil {
		return view{}, err
	}
	if !shown.Order.Confirmed() {
		shown.Earnings = nil
	}
	// FLOAT comes first if both wallets moved at the same time.
	shown.Movements = []ticketing.Movement{}
	for _, of := range movements {
		slices.Reverse(of.Items)
		shown.Movements = append(shown.Movements, of.Items...)
	}
	slices.SortStableFunc(shown.Movements, func(a, b ticketing.Movement) int {
		return a.CreatedAt.Compare(b.CreatedAt.Time)
	})
	return view{title: "Order " + formatShort(id), data: shown}, nil
}

func refundOrder(ctx context.Context, c *call, params ticketing.RefundParams) (outcome, error) {
	before, err := ownOrderDetail(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	order, err := c.operator.RefundOrder(ctx, c.pathID("orderId"), params)
	if err != nil {
		return outcome{}, err
	}
	// Somebody else has ended the order before, with another reason.
	if before.Ending != nil {
		return outcome{data: order, done: "The order was already refunded. Nothing moved."}, nil
	}
	done := fmt.Sprintf("%s went back to Float, and %s of commission was taken back from Earnings.",
		formatMoney(order.Gross), formatMoney(order.Commission.Amount))
	if order.Ending.Restocked {
		done += " Its tickets can be sold again."
	}
	return outcome{data: order, done: done}, nil
}

func cancelOrder(ctx context.Context, c *call, reason string) (outcome, error) {
	before, err := ownOrderDetail(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	order, err := c.operator.CancelOrder(ctx, c.pathID("orderId"), reason)
	if err == nil && before.Ending != nil {
		return outcome{data: order, done: "The order was already cancelled. Nothing changed."}, nil
	}
	return outcome{data: order, done: "The order is cancelled. Its tickets no longer admit anyone."}, err
}
