package ticketing

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// NotificationStatus is the state of a notification.
type NotificationStatus = driver.NotificationStatus

// The statuses of a notification. FAILED: the mail was refused or expired. CANCELLED: it was not sent before its order
// was refunded or cancelled, or before its buyer was erased.
const (
	NotificationPending   = driver.NotificationPending
	NotificationSent      = driver.NotificationSent
	NotificationFailed    = driver.NotificationFailed
	NotificationCancelled = driver.NotificationCancelled
)

// NotificationAttempt is one attempt to send the mail of a notification.
type NotificationAttempt = driver.NotificationAttempt

// Notification is the ticket mail of an order as an operator sees it (section 1, item 7). It holds no address, so an
// operator who supports buyers need not see any: the order names the buyer.
type Notification struct {
	OrderID   uuid.UUID `json:"orderId"`
	CompanyID uuid.UUID `json:"companyId"`
	// Copy is 1 for the first mail of the order, and one more each time it is sent again.
	Copy   int                `json:"copy"`
	Kind   FactType           `json:"kind"` // always notification.ticket_email
	Status NotificationStatus `json:"status"`
	// Elsewhere reports whether this copy goes to another address than the buyer's. It is false after the erasure of the
	// buyer, which removes the address.
	Elsewhere bool `json:"elsewhere"`
	Attempts  int  `json:"attempts"`
	// LastError is why the latest attempt failed, or why the notification is FAILED or CANCELLED. It is nil for one that
	// was sent or never tried.
	LastError *string `json:"lastError"`
	// NextAttemptAt is when it is tried next. It is nil while it is being tried, and when it is final.
	NextAttemptAt *Time `json:"nextAttemptAt"`
	SentAt        *Time `json:"sentAt"` // when the mail server had accepted it; nil: it is not SENT
	CreatedAt     Time  `json:"createdAt"`
	// Log are the attempts, oldest first. A list leaves it out.
	Log []NotificationAttempt `json:"log,omitempty"`
}

// NotificationFilter selects notifications of a company. A zero field selects all. A notification is selected if it
// matches every field.
type NotificationFilter struct {
	OrderID uuid.UUID          // an order of the company
	EventID uuid.UUID          // an event of the company
	Status  NotificationStatus // one of the statuses of a notification
	Since   time.Time          // created then or later
	Until   time.Time          // created before
}

// Reasons why a notification is final. Operators see them.
const (
	reasonExpired   = "expired"
	reasonRefunded  = "the order was refunded"
	reasonCancelled = "the order was cancelled"
	reasonErased    = "the buyer was erased"
)

// endReason returns why the mail of an order is not sent any more. It is empty for an order whose mail is sent.
func endReason(order driver.Order) string {
	switch {
	case order.Status == OrderRefunded:
		return reasonRefunded
	case order.Status == OrderCancelled:
		return reasonCancelled
	case strings.HasSuffix(order.BuyerEmail, erasedDomain):
		return reasonErased
	default:
		return ""
	}
}

// newNotification returns a notification of an order, due at once. That of an order which has ended already is
// CANCELLED from the beginning, so that an operator sees why nobody got a mail.
func newNotification(at time.Time, order driver.Order, number int, recipient string) driver.Notification {
	n := driver.Notification{
		CompanyID: order.CompanyID, Number: order.Number, Copy: number, OrderID: order.ID, EventID: order.EventID,
		Recipient: recipient, Status: NotificationPending, DueAt: at, CreatedAt: at,
	}
	if reason := endReason(order); reason != "" {
		return finishNotification(n, NotificationCancelled, reason, at)
	}
	return n
}

// finishNotification returns the notification in a final status, without a lease. The reason is empty where the last
// attempt says enough.
func finishNotification(
	n driver.Notification, status NotificationStatus, reason string, at time.Time,
) driver.Notification {
	n.Status, n.Reason, n.LeasedUntil, n.FinishedAt = status, reason, time.Time{}, notBefore(at, n.CreatedAt)
	return n
}

// addNotificationAttempt returns the notification with another attempt. It copies the log, since records share theirs
// with their copies.
func addNotificationAttempt(n driver.Notification, attempt NotificationAttempt) driver.Notification {
	n.Attempts = append(slices.Clone(n.Attempts), attempt)
	return n
}

// notifyBuyers returns the notifications of the sales among the facts: one for each, where the platform has a mail
// sender at this moment, and none where it has not. Nothing of this is part of a sale's own transaction: the dispatch
// of the sale's fact makes the notification, so there is one for every sale even if a process dies.
//
// The sender is read without the gate of the zero company. A dispatch that runs while the sender is set or removed may
// see either.
func notifyBuyers(
	ctx context.Context, tx driver.ReadTx, at time.Time, facts []driver.Fact, of factSubjects,
) ([]driver.Notification, error) {
	if len(of.orders) == 0 {
		return nil, nil
	}
	sender, err := tx.MailSender(ctx)
	if err != nil || sender.Address == "" {
		return nil, err
	}
	var made []driver.Notification
	for _, f := range facts {
		if order, sold := of.orders[driver.OrderRef{CompanyID: f.CompanyID, ID: f.Subject}]; sold && isSale(f) {
			made = append(made, newNotification(at, order, 1, ""))
		}
	}
	return made, nil
}

// cancelNotifications cancels what was not sent of the orders, for a reason. With forget it also removes the addresses
// of copies that went elsewhere. A mail that is being sent is cancelled, too: if the mail server accepts it
// nevertheless, its notification is SENT.
func cancelNotifications(
	ctx context.Context, tx driver.Tx, at time.Time, orders []driver.OrderNumber, reason string, forget bool,
) error {
	found, err := tx.OrderNotifications(ctx, orders)
	if err != nil {
		return err
	}
	changes := func(n driver.Notification) bool {
		return n.Status == NotificationPending || forget && n.Recipient != ""
	}
	var refs []driver.NotificationRef
	for _, n := range found {
		if changes(n) {
			refs = append(refs, n.Ref())
		}
	}
	if len(refs) == 0 {
		return nil
	}
	// They are read again under their locks: a mail may have been sent meanwhile.
	locked, err := tx.LockNotifications(ctx, refs)
	if err != nil {
		return err
	}
	var changed []driver.Notification
	for _, n := range locked {
		if n.OrderID == uuid.Nil || !changes(n) {
			continue
		}
		if n.Status == NotificationPending {
			n = finishNotification(n, NotificationCancelled, reason, at)
		}
		if forget {
			n.Recipient = ""
		}
		changed = append(changed, n)
	}
	if len(changed) == 0 {
		return nil
	}
	return tx.UpdateNotifications(ctx, changed)
}

// showNotification returns what an operator sees of the record at the given time. A notification under a lease shows no
// time of its next attempt.
func showNotification(n driver.Notification, at time.Time) Notification {
	shown := Notification{
		OrderID: n.OrderID, CompanyID: n.CompanyID, Copy: n.Copy, Kind: FactTicketEmail, Status: n.Status,
		Elsewhere: n.Recipient != "", Attempts: len(n.Attempts), CreatedAt: Time{Time: n.CreatedAt}, Log: n.Attempts,
	}
	switch last := len(n.Attempts) - 1; {
	case n.Status == NotificationSent:
		shown.SentAt = optionalTime(n.FinishedAt)
	case n.Reason != "":
		shown.LastError = &n.Reason
	case last >= 0:
		shown.LastError = optional(n.Attempts[last].Error)
	}
	// Under a lease DueAt is the end of the lease, which is no time for operators.
	if n.Status == NotificationPending && !n.LeasedUntil.After(at) {
		shown.NextAttemptAt = optionalTime(n.DueAt)
	}
	return shown
}

// check checks a filter and returns it with its times in milliseconds, as notifications are kept.
func (f NotificationFilter) check(v *violations) NotificationFilter {
	switch f.Status {
	case "", NotificationPending, NotificationSent, NotificationFailed, NotificationCancelled:
	default:
		v.add("status", "must be PENDING, SENT, FAILED or CANCELLED")
	}
	checkPeriod(v, &f.Since, &f.Until)
	return f
}

// query returns the filter as a query of the store. An order that the company does not have is NOT_FOUND.
func (f NotificationFilter) query(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID,
) (driver.NotificationQuery, error) {
	query := driver.NotificationQuery{
		CompanyID: companyID, EventID: f.EventID, Status: f.Status, Since: f.Since, Until: f.Until,
	}
	if f.OrderID == uuid.Nil {
		return query, nil
	}
	order, err := firstRecord(tx.Orders(ctx, []driver.OrderRef{{CompanyID: companyID, ID: f.OrderID}}))
	if err == nil && order.ID == uuid.Nil {
		err = errOrderNotFound
	}
	query.Number = order.Number
	return query, err
}

// byCopy is the order of a list of notifications: highest number first, then copy. The place in a cursor is the number
// and the copy, 8 bytes each, big-endian.
func byCopy() listOrder[driver.Notification, driver.NotificationRef] {
	return listOrder[driver.Notification, driver.NotificationRef]{
		position: driver.Notification.Ref, size: 2 * numberSize,
		encode: func(r driver.NotificationRef) []byte {
			return append(numberBytes(r.Number), numberBytes(int64(r.Copy))...)
		},
		decode: func(b []byte) (driver.NotificationRef, error) {
			number, err := parseNumber(b[:numberSize])
			copied, copyErr := parseNumber(b[numberSize:])
			return driver.NotificationRef{Number: number, Copy: int(copied)}, errors.Join(err, copyErr)
		},
	}
}

// ListNotifications returns a page of a company's notifications, newest order first, and of one order the latest copy
// first. It leaves out the log of attempts. It needs COMPANY:notification:read.
//
// Final notifications are kept for [Config.MailRetention]. It is INVALID_REQUEST for an unknown status and for an Until
// that is not after Since, NOT_FOUND for an order that the company does not have, and INVALID_CURSOR for a cursor of
// another company or filter. An event that the company does not have gives an empty page.
func (o Operator) ListNotifications(
	ctx context.Context, companyID uuid.UUID, filter NotificationFilter, params PageParams,
) (Page[Notification], error) {
	if err := o.allow(PermissionNotificationRead, companyID); err != nil {
		return Page[Notification]{}, err
	}
	var v violations
	filter = filter.check(&v)
	list, err := openListing(byCopy(), params, v, "notifications", companyID.String(), filter.OrderID.String(),
		filter.EventID.String(), string(filter.Status), strconv.FormatInt(filter.Since.UnixMilli(), 10),
		strconv.FormatInt(filter.Until.UnixMilli(), 10))
	if err != nil {
		return Page[Notification]{}, err
	}
	at := o.s.now()
	var records []driver.Notification
	err = o.view(ctx, PermissionNotificationRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			query, err := filter.query(ctx, tx, companyID)
			if err != nil {
				return err
			}
			query.After, query.Limit = list.after, list.limit
			records, err = tx.ListNotifications(ctx, query)
			return err
		})
	if err != nil {
		return Page[Notification]{}, err
	}
	var page Page[Notification]
	records, page.HasMore, page.NextCursor = list.cut(records)
	page.Items = make([]Notification, len(records))
	for i, record := range records {
		page.Items[i] = showNotification(record, at)
		page.Items[i].Log = nil
	}
	return page, nil
}

// GetNotifications returns all notifications of an order with their attempts, oldest copy first. It is empty for an
// order that was sold without a mail sender, and after [Config.MailRetention]. An unknown order is NOT_FOUND. It needs
// COMPANY:notification:read.
func (o Operator) GetNotifications(ctx context.Context, orderID uuid.UUID) ([]Notification, error) {
	order, err := o.orderReached(ctx, PermissionNotificationRead, orderID)
	if err != nil {
		return nil, err
	}
	var records []driver.Notification
	err = o.view(ctx, PermissionNotificationRead, order.CompanyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err = tx.OrderNotifications(ctx, []driver.OrderNumber{order.NumberRef()})
			return err
		})
	if err != nil {
		return nil, err
	}
	at := o.s.now()
	shown := make([]Notification, len(records))
	for i, record := range records {
		shown[i] = showNotification(record, at)
	}
	return shown, nil
}

// orderReached finds an order by its id alone, for an actor that may see it with the permission.
func (o Operator) orderReached(ctx context.Context, permission Permission, id uuid.UUID) (driver.Order, error) {
	return findReached(ctx, o, permission, id, errOrderNotFound, driver.ReadTx.FindOrder,
		func(order driver.Order) uuid.UUID { return order.CompanyID })
}

// errNoMailRenderer is the error of a preview on a service that cannot make one.
var errNoMailRenderer = conflict("This server makes no ticket mails: it has no Config.MailRenderer.")

// PreviewNotification returns the mail of an order as it would be sent now. It sends nothing and keeps nothing. The
// mail goes to the buyer, from the platform's sender, or from a made-up one where none is set. An order that was
// refunded or cancelled has a preview, too, although its mail is not sent. It needs COMPANY:notification:read, and is
// CONFLICT for a service without [Config.MailRenderer].
func (o Operator) PreviewNotification(ctx context.Context, orderID uuid.UUID) (Mail, error) {
	order, err := o.orderReached(ctx, PermissionNotificationRead, orderID)
	if err != nil {
		return Mail{}, err
	}
	var tickets TicketMail
	err = o.view(ctx, PermissionNotificationRead, order.CompanyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			tickets, err = firstRecord(ticketMails(ctx, tx, []driver.Order{order}))
			return err
		})
	if err != nil {
		return Mail{}, err
	}
	return o.s.renderPreview(ctx, tickets)
}

// renderPreview renders a mail that the service does not send.
func (s *Service) renderPreview(ctx context.Context, tickets TicketMail) (Mail, error) {
	if s.mailRenderer == nil {
		return Mail{}, errNoMailRenderer
	}
	if tickets.Sender.Address == "" {
		tickets.Sender = MailSender{Address: "tickets@example.com", Name: "Tickets"}
	}
	tickets.At = s.now()
	return s.mailRenderer.RenderTickets(ctx, tickets)
}

// ticketMails returns what the mails of orders are made of, in their order. The number of reads does not depend on that
// of the orders. The Sender is zero if the platform has none.
func ticketMails(ctx context.Context, tx driver.ReadTx, records []driver.Order) ([]TicketMail, error) {
	if len(records) == 0 {
		return nil, nil
	}
	orders, err := showOrders(ctx, tx, records)
	if err != nil {
		return nil, err
	}
	refs := make([]driver.EventRef, len(records))
	for i, record := range records {
		refs[i] = driver.EventRef{CompanyID: record.CompanyID, ID: record.EventID}
	}
	refs = distinct(refs)
	found, err := tx.Events(ctx, refs)
	if err != nil {
		return nil, err
	}
	shown, err := showEvents(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	events := make(map[driver.EventRef]Event, len(refs))
	for i, ref := range refs {
		events[ref] = shown[i]
	}
	sender, err := tx.MailSender(ctx)
	if err != nil {
		return nil, err
	}
	mails := make([]TicketMail, len(records))
	for i, record := range records {
		mails[i] = TicketMail{
			Order: orders[i], Event: events[driver.EventRef{CompanyID: record.CompanyID, ID: record.EventID}],
			Sender: showMailSender(sender), To: record.BuyerEmail, Copy: 1,
		}
	}
	return mails, nil
}
