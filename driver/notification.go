package driver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// NotificationStatus is the state of a notification.
type NotificationStatus string

// The statuses of a notification. All but PENDING are final, except that a mail which was accepted while its
// notification was cancelled is SENT.
const (
	NotificationPending   NotificationStatus = "PENDING"
	NotificationSent      NotificationStatus = "SENT"
	NotificationFailed    NotificationStatus = "FAILED"
	NotificationCancelled NotificationStatus = "CANCELLED"
)

// NotificationAttempt is one attempt to send the mail of a notification.
type NotificationAttempt struct {
	At    Time   // when it ended
	Code  string // of the mail server's reply, such as "550 5.1.1"; empty: there was none
	Error string // at most 200 characters, without an address; empty: the mail was accepted
}

// MarshalJSON writes the attempt, with null for a code or an error that it does not have:
//
//	{"at":"2026-01-31T17:05:00.000Z","code":"550 5.1.1","error":"the address was refused"}
func (a NotificationAttempt) MarshalJSON() ([]byte, error) {
	shown := struct {
		At    Time    `json:"at"`
		Code  *string `json:"code"`
		Error *string `json:"error"`
	}{At: a.At}
	if a.Code != "" {
		shown.Code = &a.Code
	}
	if a.Error != "" {
		shown.Error = &a.Error
	}
	return json.Marshal(shown)
}

// Notification is the ticket mail of an order as a store keeps it. Recipient, Status, Reason, Attempts, DueAt,
// LeasedUntil and FinishedAt change until it is final. The text of the mail is not kept: it is made from the order and
// the event when the mail is sent.
type Notification struct {
	CompanyID uuid.UUID
	Number    int64 // of the order
	Copy      int   // 1 for the first mail of the order, and one more for each resending
	OrderID   uuid.UUID
	EventID   uuid.UUID
	// Recipient is the address of a copy that does not go to the order's buyer. It is emptied when the buyer is erased.
	Recipient string
	Status    NotificationStatus
	// Reason says why the notification is CANCELLED, or FAILED without a last attempt; at most 200 characters.
	Reason   string
	Attempts []NotificationAttempt
	// DueAt is when a pending notification may be claimed: the time of its next attempt, or the end of its lease. If a
	// process dies, its notifications become due again by themselves.
	DueAt       time.Time
	LeasedUntil time.Time // zero: no process has it
	FinishedAt  time.Time // zero: pending
	CreatedAt   time.Time
}

// NotificationRef identifies a notification. It is the primary key, so the notifications of an order are found without
// another index, and a list reads that key backwards.
type NotificationRef struct {
	CompanyID uuid.UUID
	Number    int64
	Copy      int
}

// NotificationQuery selects notifications of a company.
type NotificationQuery struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID          // zero: of every event
	Number    int64              // of the order; zero: of every order
	Status    NotificationStatus // empty: in every status
	Since     time.Time          // created then or later; zero: from the beginning
	Until     time.Time          // created before; zero: to the end
	// After is the notification before the first result, in the order of the list. The zero reference is the beginning
	// of the list; its company is ignored.
	After NotificationRef
	Limit int
}

// NotificationClaim leases notifications of a company that are due.
type NotificationClaim struct {
	CompanyID uuid.UUID
	At        time.Time // only those that are due by then
	Until     time.Time // the end of the lease
	// CreatedBefore limits the claim to those that were created before a time; zero: no limit.
	CreatedBefore time.Time
	Limit         int
}

// NotificationReader finds notifications.
type NotificationReader interface {
	// OrderNotifications returns all notifications of the orders, by company, number and copy.
	OrderNotifications(ctx context.Context, orders []OrderNumber) ([]Notification, error)
	// ListNotifications returns notifications by number, then copy, highest first.
	ListNotifications(ctx context.Context, query NotificationQuery) ([]Notification, error)
	// CountNotifications counts the notifications that ListNotifications would return from the beginning without a
	// limit.
	CountNotifications(ctx context.Context, query NotificationQuery) (int, error)
	// PrunedNotifications returns the highest number of an order of the company whose notification PruneNotifications ever
	// removed; zero: none. An order up to that number may have had a notification that is gone.
	PrunedNotifications(ctx context.Context, companyID uuid.UUID) (int64, error)
}

// NotificationWriter keeps notifications.
type NotificationWriter interface {
	// AppendNotifications keeps new notifications. It leaves out a notification whose key exists already, and does not
	// change the kept one: a dispatch and a resending may make the first notification of an order at the same time.
	AppendNotifications(ctx context.Context, notifications []Notification) error
	// ClaimNotifications leases the notifications of a company that are pending and due, longest due first: DueAt and
	// LeasedUntil become the claim's Until. It skips those that another transaction has locked, so processes share the
	// work without waiting. It returns the claimed ones by number, then copy.
	ClaimNotifications(ctx context.Context, claim NotificationClaim) ([]Notification, error)
	// LockNotifications reads notifications and locks them until the end of the transaction.
	LockNotifications(ctx context.Context, refs []NotificationRef) ([]Notification, error)
	// UpdateNotifications keeps Recipient, Status, Reason, Attempts, DueAt, LeasedUntil and FinishedAt of notifications
	// that were locked or claimed.
	UpdateNotifications(ctx context.Context, notifications []Notification) error
	// PruneNotifications removes up to limit of a company's notifications that are final and were finished before a time,
	// in the order in which they were finished, and returns how many. See PrunedNotifications.
	PruneNotifications(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}

// Ref returns the reference of the notification.
func (n Notification) Ref() NotificationRef {
	return NotificationRef{CompanyID: n.CompanyID, Number: n.Number, Copy: n.Copy}
}

// OrderNumber returns the reference of the notification's order.
func (n Notification) OrderNumber() OrderNumber {
	return OrderNumber{CompanyID: n.CompanyID, Number: n.Number}
}
