package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of sending again.
const (
	// maxCopies is how many copies of the mail of an order may be made in copiesPeriod: nobody's mailbox is to be
	// flooded with them.
	maxCopies    = 10
	copiesPeriod = 24 * time.Hour

	resendPage = 500 // how many orders are read together
	// resendBatch is the most orders that one transaction makes copies for. A refund of one of them waits for it.
	resendBatch = 100
)

// ResendNotification sends the mail of an order again: it makes a new copy, which is due at once. The copy goes to the
// buyer, or to another address, such as a corrected one; the order keeps its own. The new copy has the event as it is
// now, and the branding of the sale.
//
// It is CONFLICT for an order that was refunded or cancelled, for one whose buyer was erased, if the platform has no
// mail sender, and after ten copies in 24 hours. An unknown order is NOT_FOUND. It needs COMPANY:notification:resend.
//
// The lock on the admissions excludes the end of the order, and another copy of it at the same time.
func (o Operator) ResendNotification(ctx context.Context, orderID uuid.UUID, recipient string) (Notification, error) {
	found, err := o.orderReached(ctx, PermissionNotificationResend, orderID)
	if err != nil {
		return Notification{}, err
	}
	var v violations
	recipient = email(&v, "to", recipient, maxMailAddress)
	if err := v.err(); err != nil {
		return Notification{}, err
	}
	var made driver.Notification
	err = o.changeShared(ctx, PermissionNotificationResend, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			if err := requireMailSender(ctx, tx); err != nil {
				return err
			}
			lines, err := tx.OrderLines(ctx, []driver.OrderNumber{found.NumberRef()})
			if err != nil {
				return err
			}
			order, _, err := lockOrder(ctx, tx, found, lines)
			if err != nil {
				return err
			}
			if reason := endReason(order); reason != "" {
				return conflict("The mail is not sent again: %s.", reason)
			}
			if recipient == order.BuyerEmail {
				recipient = ""
			}
			if made, err = appendCopy(ctx, tx, at, order, recipient); err != nil {
				return err
			}
			// The audit log outlives the erasure of a buyer, so it holds no address.
			return o.audit(ctx, tx, at, "notification.resend", order.CompanyID, about("order", order.ID),
				changes{after: map[string]any{"copy": made.Copy, "elsewhere": made.Recipient != ""}})
		})
	if err != nil {
		return Notification{}, err
	}
	o.s.wakeFor(driver.DueWork{Kind: driver.WorkMail, CompanyID: made.CompanyID})
	return showNotification(made, o.s.now()), nil
}

// requireMailSender returns CONFLICT if the platform has no mail sender.
func requireMailSender(ctx context.Context, tx driver.ReadTx) error {
	sender, err := tx.MailSender(ctx)
	if err == nil && sender.Address == "" {
		err = conflict("No mail sender is set, so no mail can be sent.")
	}
	return err
}

// appendCopy makes the next copy of an order whose admissions are locked. A dispatch, which takes no such lock, may
// make the first mail of the order at the same time. Then the store leaves the new one out, and this takes the next
// number.
func appendCopy(
	ctx context.Context, tx driver.Tx, at time.Time, order driver.Order, recipient string,
) (driver.Notification, error) {
	pruned, err := tx.PrunedNotifications(ctx, order.CompanyID)
	if err != nil {
		return driver.Notification{}, err
	}
	copies, err := tx.OrderNotifications(ctx, []driver.OrderNumber{order.NumberRef()})
	for err == nil {
		var next driver.Notification
		if next, err = nextCopy(at, order, copies, pruned, recipient); err != nil {
			break
		}
		if err = tx.AppendNotifications(ctx, []driver.Notification{next}); err != nil {
			break
		}
		// The read sends the write first, and shows which of the two was kept.
		copies, err = tx.OrderNotifications(ctx, []driver.OrderNumber{order.NumberRef()})
		for _, n := range copies {
			if n.Copy == next.Copy && n.CreatedAt.Equal(next.CreatedAt) && n.Recipient == next.Recipient {
				return n, nil
			}
		}
	}
	return driver.Notification{}, err
}

// errTooManyCopies refuses another copy of a mail that was sent again too often.
var errTooManyCopies = conflict("The mail was sent again %d times in 24 hours.", maxCopies)

// nextCopy returns the copy of an order that comes after its other notifications. pruned is the highest number of an
// order whose notification was ever removed.
//
// Each copy has a number of its own for good, since the message id of its mail has it: mail servers drop a second mail
// with an id that they know. Where the earlier copies may have been removed, the number is higher than all that can
// have been used in the days since the sale.
func nextCopy(
	at time.Time, order driver.Order, copies []driver.Notification, pruned int64, recipient string,
) (driver.Notification, error) {
	last, recently := 0, 0
	if len(copies) == 0 && order.Number <= pruned {
		last = maxCopies * (2 + int(at.Sub(order.ConfirmedAt)/copiesPeriod))
	}
	for _, n := range copies {
		last = n.Copy
		if n.Copy > 1 && n.CreatedAt.After(at.Add(-copiesPeriod)) {
			recently++
		}
	}
	if recently >= maxCopies {
		return driver.Notification{}, errTooManyCopies
	}
	return newNotification(at, order, last+1, recipient), nil
}

// ResendParams select the orders of a company whose mails are sent again, and how fast. Set either Failed or Missing.
type ResendParams struct {
	EventID uuid.UUID // only of this event; zero: of every event
	// Failed selects the orders whose latest notification is FAILED.
	Failed bool
	// Missing selects the CONFIRMED orders that have no notification, because they were sold before the platform had a
	// mail sender. It passes over orders whose notification may have been removed after [Config.MailRetention]: those up
	// to the newest order for which that happened.
	Missing bool
	// Rate is the most copies that are made in a second, up to 10,000. Defaults to 50.
	Rate int
	// Progress is called from time to time, and at the end, with the number of orders that are done and their total.
	// Both include those that were skipped. Defaults to none.
	Progress func(done, total int)
}

// ResendResult is the result of sending many mails again.
type ResendResult struct {
	Made int `json:"made"` // copies that were made
	// Skipped is how many orders got no copy: those that ended meanwhile or whose buyer was erased, those that got a
	// mail meanwhile, and those with ten copies in 24 hours.
	Skipped int `json:"skipped"`
}

// check checks the params and returns them with their defaults.
func (p ResendParams) check() (ResendParams, error) {
	var v violations
	if p.Failed == p.Missing {
		v.add("failed", "must be set if missing is not, and must not be set if missing is")
	}
	if p.Rate < 0 || p.Rate > maxReplayRate {
		v.add("rate", fmt.Sprintf("must be from 1 to %d mails a second, or 0 for %d", maxReplayRate, defaultReplayRate))
	}
	if p.Rate == 0 {
		p.Rate = defaultReplayRate
	}
	return p, v.err()
}

// ResendNotifications sends the mails of many orders again, newest order first, as [Operator.ResendNotification] does
// to their buyers. It begins with the orders that exist when it begins. It is CONFLICT if the platform has no mail
// sender. It needs COMPANY:notification:resend.
//
// Each transaction makes a tenth of a second's worth of copies, at most a hundred, with an entry in the audit log. So
// the work can be cut off: with the error it returns what was done until then. Another call with the same params goes
// on where it ended, since an order that got a copy is neither missing one nor FAILED any more.
func (o Operator) ResendNotifications(
	ctx context.Context, companyID uuid.UUID, params ResendParams,
) (ResendResult, error) {
	if err := o.allowWrite(PermissionNotificationResend, companyID); err != nil {
		return ResendResult{}, err
	}
	params, err := params.check()
	if err != nil {
		return ResendResult{}, err
	}
	r := resender{o: o, companyID: companyID, params: params}
	err = r.count(ctx)
	for after, more := int64(0), true; err == nil && more; {
		var orders []driver.Order
		if orders, after, more, err = r.find(ctx, after); err == nil {
			err = r.resend(ctx, orders)
		}
	}
	return r.result, err
}

// CountResends returns for how many orders [Operator.ResendNotifications] would make a copy now. It needs
// COMPANY:notification:resend.
func (o Operator) CountResends(ctx context.Context, companyID uuid.UUID, params ResendParams) (int, error) {
	if err := o.allow(PermissionNotificationResend, companyID); err != nil {
		return 0, err
	}
	params, err := params.check()
	if err != nil {
		return 0, err
	}
	r := resender{o: o, companyID: companyID, params: params}
	err = r.count(ctx)
	return r.total, err
}

// A resender sends the mails of a company's orders again, page by page. It runs in the caller's goroutine and keeps its
// place in memory only.
type resender struct {
	o         Operator
	companyID uuid.UUID
	params    ResendParams
	total     int       // how many orders were selected at the beginning
	pace      batchPace // between two batches
	result    ResendResult
}

// count counts what is selected, without a lock. It is the total of the progress.
func (r *resender) count(ctx context.Context) error {
	err := r.o.view(ctx, PermissionNotificationResend, r.companyID, requireMailSender)
	for after, more := int64(0), true; err == nil && more; {
		var orders []driver.Order
		orders, after, more, err = r.find(ctx, after)
		r.total += len(orders)
	}
	return err
}

// find returns the selected orders of the next page, the number after which the page after it begins, and whether there
// may be one. It takes no lock: the transaction of a batch decides.
func (r *resender) find(ctx context.Context, after int64) (orders []driver.Order, next int64, more bool, err error) {
	err = r.o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		if r.params.Failed {
			orders, next, more, err = r.failed(ctx, tx, after)
		} else {
			orders, next, more, err = r.missing(ctx, tx, after)
		}
		return err
	})
	return orders, next, more, err
}

// failed returns the orders of a page of FAILED notifications whose latest copy is FAILED. A page of notifications may
// end within the copies of an order; the next page begins with the next order.
func (r *resender) failed(
	ctx context.Context, tx driver.ReadTx, after int64,
) (orders []driver.Order, next int64, more bool, err error) {
	query := driver.NotificationQuery{
		CompanyID: r.companyID, EventID: r.params.EventID, Status: NotificationFailed, Limit: resendPage,
		// Copies begin at 1, so the page begins with the order before the number.
		After: driver.NotificationRef{Number: after},
	}
	found, err := tx.ListNotifications(ctx, query)
	if err != nil || len(found) == 0 {
		return nil, 0, false, err
	}
	refs := make([]driver.OrderRef, len(found))
	for i, n := range found {
		refs[i] = driver.OrderRef{CompanyID: n.CompanyID, ID: n.OrderID}
	}
	if orders, err = tx.Orders(ctx, distinct(refs)); err != nil {
		return nil, 0, false, err
	}
	orders, _, err = r.selected(ctx, tx, orders)
	return orders, found[len(found)-1].Number, len(found) == resendPage, err
}

// missing returns those of a page of CONFIRMED orders that have no notification.
func (r *resender) missing(
	ctx context.Context, tx driver.ReadTx, after int64,
) (orders []driver.Order, next int64, more bool, err error) {
	pruned, err := tx.PrunedNotifications(ctx, r.companyID)
	if err != nil {
		return nil, 0, false, err
	}
	page, err := tx.ListOrders(ctx, driver.OrderQuery{
		CompanyID: r.companyID, EventID: r.params.EventID, Statuses: []OrderStatus{OrderConfirmed}, After: after,
		AboveNumber: pruned, Limit: resendPage,
	})
	if err != nil || len(page) == 0 {
		return nil, 0, false, err
	}
	orders, _, err = r.selected(ctx, tx, page)
	return orders, page[len(page)-1].Number, len(page) == resendPage, err
}

// selected returns those of the orders that the params select: by their notifications, and because their mail may be
// sent. It also returns the notifications of all the orders.
func (r *resender) selected(
	ctx context.Context, tx driver.ReadTx, orders []driver.Order,
) (selected []driver.Order, copies map[driver.OrderNumber][]driver.Notification, err error) {
	numbers := make([]driver.OrderNumber, len(orders))
	for i, order := range orders {
		numbers[i] = order.NumberRef()
	}
	found, err := tx.OrderNotifications(ctx, numbers)
	if err != nil {
		return nil, nil, err
	}
	copies = make(map[driver.OrderNumber][]driver.Notification, len(orders))
	for _, n := range found {
		copies[n.OrderNumber()] = append(copies[n.OrderNumber()], n)
	}
	for _, order := range orders {
		of := copies[order.NumberRef()]
		wanted := len(of) == 0
		if r.params.Failed {
			// The latest copy comes last.
			wanted = len(of) > 0 && of[len(of)-1].Status == NotificationFailed
		}
		if wanted && order.ID != uuid.Nil && endReason(order) == "" {
			selected = append(selected, order)
		}
	}
	return selected, copies, nil
}

// resend makes copies for a page of orders, in batches.
func (r *resender) resend(ctx context.Context, orders []driver.Order) error {
	size := max(1, min(r.params.Rate/10, resendBatch))
	for len(orders) > 0 {
		batch := orders[:min(size, len(orders))]
		orders = orders[len(batch):]
		// The context is checked between two batches. A batch that has begun is finished.
		if err := r.pace.await(ctx, len(batch), r.params.Rate); err != nil {
			return err
		}
		if err := r.resendBatch(ctx, batch); err != nil {
			return err
		}
		r.progressed(len(orders))
	}
	r.progressed(0)
	return nil
}

// progressed calls Progress. waiting is the number of orders of the page that are still to be done: the total is never
// less than what is known.
func (r *resender) progressed(waiting int) {
	done := r.result.Made + r.result.Skipped
	if r.params.Progress != nil {
		r.params.Progress(done, max(r.total, done+waiting))
	}
}

// resendBatch makes the copies of a batch in one transaction. It locks one admission of each order: an ending of
// the order and another copy of its mail lock that one, too.
func (r *resender) resendBatch(ctx context.Context, batch []driver.Order) error {
	var made int
	err := r.o.changeShared(ctx, PermissionNotificationResend, r.companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			made = 0
			if err := requireMailSender(ctx, tx); err != nil {
				return err
			}
			present, err := lockOrders(ctx, tx, batch)
			if err != nil {
				return err
			}
			present, copies, err := r.selected(ctx, tx, present)
			if err != nil {
				return err
			}
			pruned, err := tx.PrunedNotifications(ctx, company.ID)
			if err != nil {
				return err
			}
			var next []driver.Notification
			for _, order := range present {
				// A dispatch may make the first mail of an order at the same time. Then the store leaves this one out, and
				// the order has its mail.
				if n, err := nextCopy(at, order, copies[order.NumberRef()], pruned, ""); err == nil {
					next = append(next, n)
				}
			}
			if made = len(next); made == 0 {
				return nil
			}
			if err := tx.AppendNotifications(ctx, next); err != nil {
				return err
			}
			return r.o.audit(ctx, tx, at, "notification.resend", company.ID, about("company", company.ID),
				changes{after: r.audited(made)})
		})
	if err != nil {
		return err
	}
	// The counts are added after the commit, so a run that is repeated does not count twice.
	r.result.Made += made
	r.result.Skipped += len(batch) - made
	if made > 0 {
		r.o.s.wakeFor(driver.DueWork{Kind: driver.WorkMail, CompanyID: r.companyID})
	}
	return nil
}

// lockOrders locks one admission of each order, by key, and returns the orders as they are then.
func lockOrders(ctx context.Context, tx driver.Tx, orders []driver.Order) ([]driver.Order, error) {
	numbers := make([]driver.OrderNumber, len(orders))
	refs := make([]driver.OrderRef, len(orders))
	for i, order := range orders {
		numbers[i] = order.NumberRef()
		refs[i] = driver.OrderRef{CompanyID: order.CompanyID, ID: order.ID}
	}
	lines, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	var first []driver.AdmissionRef
	for _, line := range lines {
		if line.Line == 1 {
			first = append(first, driver.AdmissionRef{CompanyID: line.CompanyID, ID: line.ID})
		}
	}
	if _, err := tx.LockAdmissions(ctx, first); err != nil {
		return nil, err
	}
	// This read begins after the locks were granted, so it sees an ending that committed before.
	return tx.Orders(ctx, refs)
}

// audited returns what the audit log keeps of a batch. The notifications themselves name their orders.
func (r *resender) audited(made int) any {
	record := map[string]any{"notifications": made, "missing": r.params.Missing}
	if r.params.EventID != uuid.Nil {
		record["eventId"] = r.params.EventID
	}
	return record
}
