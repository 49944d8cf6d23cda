package driver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// DeliveryStatus is the state of a delivery (section 3.5).
type DeliveryStatus string

// The statuses of a delivery. All but PENDING are final.
const (
	DeliveryPending   DeliveryStatus = "PENDING"
	DeliverySucceeded DeliveryStatus = "SUCCEEDED"
	DeliveryFailed    DeliveryStatus = "FAILED"
	DeliveryCancelled DeliveryStatus = "CANCELLED"
)

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt struct {
	At         Time   // when it began; its signature has the same time
	Status     int    // of the receiver's response; zero: there was none in time
	DurationMS int64  // milliseconds
	Error      string // at most 200 characters; empty: it succeeded
}

// MarshalJSON writes the attempt, with null for a status or an error that it does not have:
//
//	{"at":"2026-01-31T17:05:00.000Z","httpStatus":503,"durationMs":12,"error":"HTTP 503"}
func (a DeliveryAttempt) MarshalJSON() ([]byte, error) {
	shown := struct {
		At         Time    `json:"at"`
		Status     *int    `json:"httpStatus"`
		DurationMS int64   `json:"durationMs"`
		Error      *string `json:"error"`
	}{At: a.At, DurationMS: a.DurationMS}
	if a.Error != "" {
		shown.Error = &a.Error
	}
	if a.Status != 0 {
		shown.Status = &a.Status
	}
	return json.Marshal(shown)
}

// Delivery is a delivery as a store keeps it. Status, Cancelling, Attempts, DueAt, LeasedUntil and FinishedAt
// change until it is final. URL and SecretVersion are snapshots: automatic attempts never change them (section 6.5).
type Delivery struct {
	CompanyID     uuid.UUID
	CreatedAt     time.Time
	ID            uuid.UUID
	Endpoint      int64 // the number of the endpoint
	EndpointID    uuid.UUID
	MessageAt     time.Time
	MessageID     uuid.UUID // the id of the event
	Type          FactType
	URL           string    // of the endpoint when the delivery was made
	SecretVersion int64     // the active one at that time
	ReplayOf      uuid.UUID // the delivery that this one replays; zero: it is no replay
	Status        DeliveryStatus
	// Cancelling reports whether the endpoint was disabled or deleted during an attempt. Unless that attempt succeeds,
	// the delivery is cancelled.
	Cancelling bool
	Attempts   []DeliveryAttempt
	// DueAt is when a pending delivery may be claimed: the time of its next attempt, or the end of its lease. If a process
	// dies, its deliveries become due again by themselves.
	DueAt       time.Time
	LeasedUntil time.Time // zero: no process has it
	FinishedAt  time.Time // zero: pending
}

// DeliveryRef identifies a delivery. In the primary key the time of creation comes before the id, so that lists read
// the key in order.
type DeliveryRef struct {
	CompanyID uuid.UUID
	CreatedAt time.Time
	ID        uuid.UUID
}

// DeliveryQuery selects deliveries of a company.
type DeliveryQuery struct {
	CompanyID uuid.UUID
	Endpoint  int64          // zero: of every endpoint
	Status    DeliveryStatus // empty: in every status
	Type      FactType       // empty: of every type
	Replays   bool           // only those that replay another delivery
	Since     time.Time      // created then or later; zero: from the beginning
	Until     time.Time      // created before; zero: to the end
	// After is the position before the first result, in the order of the list. Zero is the beginning of the list.
	After       Position
	OldestFirst bool
	Limit       int
}

// DeliveryClaim leases deliveries of one endpoint that are due.
type DeliveryClaim struct {
	CompanyID uuid.UUID
	Endpoint  int64
	At        time.Time // only those that are due by then
	Until     time.Time // the end of the lease
	Limit     int
}

// DeadLetters is how many deliveries of a company failed.
type DeadLetters struct {
	CompanyID uuid.UUID
	Count     int
}

// EndpointHealthQuery selects the deliveries from which the health of the endpoints of companies is counted.
type EndpointHealthQuery struct {
	Companies []uuid.UUID // no two are equal
	Since     time.Time   // failures that ended then or later
	Most      int         // where every count stops
}

// EndpointHealth is the state of the deliveries to an endpoint. Each count stops at EndpointHealthQuery.Most.
type EndpointHealth struct {
	CompanyID     uuid.UUID
	Endpoint      int64
	LastSuccessAt time.Time // the latest FinishedAt of a delivery that SUCCEEDED; zero: none is kept
	Failed        int       // deliveries that FAILED, and ended at EndpointHealthQuery.Since or later
	Pending       int
	Retrying      int // of the pending deliveries that are due first, those with an attempt
	// NewestID and NewestAt are those of the company's newest delivery, to any endpoint. They are zero where there is
	// none.
	NewestID uuid.UUID
	NewestAt time.Time
}

// DeliveryReader finds deliveries.
type DeliveryReader interface {
	// FindDelivery finds a delivery by its id alone. It returns the zero record where there is none.
	FindDelivery(ctx context.Context, id uuid.UUID) (Delivery, error)
	// ListDeliveries returns deliveries by time of creation, then id: newest first, or oldest first.
	ListDeliveries(ctx context.Context, query DeliveryQuery) ([]Delivery, error)
	// CountDeliveries counts the deliveries that ListDeliveries would return from the beginning without a limit. It counts
	// at most most of them, or all if most is zero.
	CountDeliveries(ctx context.Context, query DeliveryQuery, most int) (int, error)
	// CountDeadLetters returns how many deliveries of each company FAILED at a time or later, by the company's id. It
	// counts at most limit deliveries in all: those that failed last.
	CountDeadLetters(ctx context.Context, since time.Time, limit int) ([]DeadLetters, error)
	// ListMessageDeliveries returns the deliveries of a message by time of creation, then id: newest first.
	ListMessageDeliveries(ctx context.Context, companyID, messageID uuid.UUID, limit int) ([]Delivery, error)
	// EndpointHealth returns the health of each endpoint of the companies, by company, then number. The amount that it
	// reads does not grow with the number of deliveries.
	EndpointHealth(ctx context.Context, query EndpointHealthQuery) ([]EndpointHealth, error)
	// DeliversUnder reports whether a pending delivery is signed with a secret.
	DeliversUnder(ctx context.Context, secret WebhookSecretRef) (bool, error)
}

// DeliveryWriter keeps deliveries.
type DeliveryWriter interface {
	// AppendDeliveries keeps new deliveries, pending or leased.
	AppendDeliveries(ctx context.Context, deliveries []Delivery) error
	// ClaimDeliveries leases the deliveries of an endpoint that are pending and due, longest due first: DueAt and
	// LeasedUntil become the claim's Until. It skips those that another transaction has locked, so processes share the
	// work without waiting. It returns the claimed ones by time of creation, then id.
	ClaimDeliveries(ctx context.Context, claim DeliveryClaim) ([]Delivery, error)
	// LockDeliveries reads deliveries and locks them until the end of the transaction.
	LockDeliveries(ctx context.Context, refs []DeliveryRef) ([]Delivery, error)
	// LockPending locks deliveries of an endpoint that are pending and not Cancelling, in no defined order.
	LockPending(ctx context.Context, endpoint WebhookEndpointRef, limit int) ([]Delivery, error)
	// UpdateDeliveries keeps Status, Cancelling, Attempts, DueAt, LeasedUntil and FinishedAt of deliveries that were
	// locked or claimed.
	UpdateDeliveries(ctx context.Context, deliveries []Delivery) error
	// PruneDeliveries removes up to limit of a company's deliveries that are final and were created before a time,
	// oldest first, and returns how many.
	PruneDeliveries(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}

// Ref returns the reference of the delivery.
func (d Delivery) Ref() DeliveryRef {
	return DeliveryRef{CompanyID: d.CompanyID, CreatedAt: d.CreatedAt, ID: d.ID}
}

// MessageRef returns the reference of the event's body.
func (d Delivery) MessageRef() MessageRef {
	return MessageRef{CompanyID: d.CompanyID, At: d.MessageAt, ID: d.MessageID}
}

// EndpointRef returns the reference of the endpoint, which may have been deleted since.
func (d Delivery) EndpointRef() WebhookEndpointRef {
	return WebhookEndpointRef{CompanyID: d.CompanyID, Number: d.Endpoint}
}

// SecretRef returns the reference of the secret that signs every attempt of the delivery.
func (d Delivery) SecretRef() WebhookSecretRef {
	return WebhookSecretRef{CompanyID: d.CompanyID, Endpoint: d.Endpoint, Version: d.SecretVersion}
}

// Position returns the place of the delivery in a listing.
func (d Delivery) Position() Position { return Position{At: d.CreatedAt, ID: d.ID} }
