package ticketing

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// DeliveryStatus is where a delivery stands (section 3.5).
type DeliveryStatus string

// The statuses of a delivery. All but PENDING are final.
const (
	DeliveryPending   DeliveryStatus = "PENDING"
	DeliverySucceeded DeliveryStatus = "SUCCEEDED"
	DeliveryFailed    DeliveryStatus = "FAILED"
	DeliveryCancelled DeliveryStatus = "CANCELLED"
)

// MaxDeliveryAttempts is how often a delivery is tried (section 6.5).
const MaxDeliveryAttempts = 8

// maxDeliveryError bounds the text of an attempt's error, in characters.
const maxDeliveryError = 200

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt struct {
	At         Time   // when it began, which its signature tells, too
	Status     int    // the receiver's answer; zero: none came in time
	DurationMS int64  // milliseconds
	Error      string // at most 200 characters; empty: it succeeded
}

// MarshalJSON shows the attempt, with null for what there was none of:
//
//	{"at":"2026-01-31T17:05:00.000Z","httpStatus":503,"durationMs":12,"error":"HTTP 503"}
func (a DeliveryAttempt) MarshalJSON() ([]byte, error) {
	shown := struct {
		At         Time    `json:"at"`
		Status     *int    `json:"httpStatus"`
		DurationMS int64   `json:"durationMs"`
		Error      *string `json:"error"`
	}{At: a.At, DurationMS: a.DurationMS, Error: optional(a.Error)}
	if a.Status != 0 {
		shown.Status = &a.Status
	}
	return json.Marshal(shown)
}

// WebhookDelivery is a delivery as an operator sees it.
type WebhookDelivery struct {
	ID         uuid.UUID      `json:"id"`
	CompanyID  uuid.UUID      `json:"companyId"`
	EventID    uuid.UUID      `json:"eventId"`
	EventType  FactType       `json:"eventType"`
	EndpointID uuid.UUID      `json:"endpointId"`
	URL        string         `json:"url"` // the endpoint's when the delivery was made
	Status     DeliveryStatus `json:"status"`
	Attempts   int            `json:"attempts"`
	// LastHTTPStatus is the receiver's latest answer: of the latest attempt that got one, which LastError need not be of;
	// nil where none did.
	LastHTTPStatus *int `json:"lastHttpStatus"`
	// LastError is why the latest attempt failed, at most 200 characters; nil where it succeeded, or there was none.
	LastError *string `json:"lastError"`
	// NextAttemptAt is when it is tried next; nil where it is being tried now, or never again.
	NextAttemptAt *Time      `json:"nextAttemptAt"`
	CreatedAt     Time       `json:"createdAt"`
	FinishedAt    *Time      `json:"finishedAt"` // nil: PENDING
	ReplayOf      *uuid.UUID `json:"replayOf"`   // the delivery that this one replays; nil: none
	// Log are the attempts, the first one first. A list leaves it out.
	Log []DeliveryAttempt `json:"log,omitempty"`
}

// DeliveryRecord is a delivery as a store keeps it. Status, Cancelling, Attempts, DueAt, LeasedUntil and FinishedAt
// change until it is final.
type DeliveryRecord struct {
	CompanyID     uuid.UUID
	CreatedAt     time.Time
	ID            uuid.UUID
	Endpoint      int64 // its number
	EndpointID    uuid.UUID
	MessageAt     time.Time
	MessageID     uuid.UUID // the event's
	Type          FactType
	URL           string // the endpoint's when the delivery was made
	SecretVersion int64  // the active one then
	ReplayOf      uuid.UUID
	Status        DeliveryStatus
	// Cancelling tells that the endpoint was disabled or deleted during an attempt: unless that succeeds, the delivery
	// is cancelled.
	Cancelling bool
	Attempts   []DeliveryAttempt
	// DueAt is when a pending delivery may be claimed: the time of its next attempt, or while it is leased the end of
	// the lease.
	DueAt       time.Time
	LeasedUntil time.Time // zero: nobody is at it
	FinishedAt  time.Time // zero: pending
}

// DeliveryRef names a delivery.
type DeliveryRef struct {
	CompanyID uuid.UUID
	CreatedAt time.Time
	ID        uuid.UUID
}

// DeliveryQuery asks for a part of a company's deliveries.
type DeliveryQuery struct {
	CompanyID uuid.UUID
	Endpoint  int64          // zero: of every endpoint
	Status    DeliveryStatus // empty: in every status
	Type      FactType       // empty: of every type
	Replays   bool           // those alone that replay another
	Since     time.Time      // created then or later; zero: from the beginning
	Until     time.Time      // created before; zero: to the end
	// Beyond is the position to begin behind; zero: the newest, or the oldest.
	Beyond      Position
	OldestFirst bool
	Limit       int
}

// DeliveryClaim takes deliveries of one endpoint that are due.
type DeliveryClaim struct {
	CompanyID uuid.UUID
	Endpoint  int64
	At        time.Time
	Until     time.Time // the end of the lease
	Limit     int
}

// DeliveryReader finds deliveries.
type DeliveryReader interface {
	// FindDelivery finds a delivery by its id alone; the zero record where there is none.
	FindDelivery(ctx context.Context, id uuid.UUID) (DeliveryRecord, error)
	// ListDeliveries answers with deliveries by time of creation, then id: the newest first, or the oldest.
	ListDeliveries(ctx context.Context, query DeliveryQuery) ([]DeliveryRecord, error)
	// CountDeliveries counts what ListDeliveries would answer with from its beginning and without a limit.
	CountDeliveries(ctx context.Context, query DeliveryQuery) (int, error)
	// DeliversUnder tells whether a delivery that is pending is signed with a secret.
	DeliversUnder(ctx context.Context, secret WebhookSecretRef) (bool, error)
}

// DeliveryWriter keeps deliveries.
type DeliveryWriter interface {
	AppendDeliveries(ctx context.Context, deliveries []DeliveryRecord) error
	// ClaimDeliveries takes those of an endpoint that are pending and due, the longest due first: DueAt and LeasedUntil
	// become the claim's Until. It passes over those that another transaction has locked, and answers with the claimed by
	// time of creation, then id.
	ClaimDeliveries(ctx context.Context, claim DeliveryClaim) ([]DeliveryRecord, error)
	// LockDeliveries reads deliveries and keeps other writers from them.
	LockDeliveries(ctx context.Context, refs []DeliveryRef) ([]DeliveryRecord, error)
	// LockPending locks deliveries of an endpoint that are pending and not cancelling, in no order.
	LockPending(ctx context.Context, endpoint WebhookEndpointRef, limit int) ([]DeliveryRecord, error)
	// UpdateDeliveries keeps Status, Cancelling, Attempts, DueAt, LeasedUntil and FinishedAt of those that were locked
	// or claimed.
	UpdateDeliveries(ctx context.Context, deliveries []DeliveryRecord) error
	// PruneDeliveries removes up to a limit of a company's deliveries that are final and were created before a time, the
	// oldest first, and tells how many.
	PruneDeliveries(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}

func (d DeliveryRecord) ref() DeliveryRef {
	return DeliveryRef{CompanyID: d.CompanyID, CreatedAt: d.CreatedAt, ID: d.ID}
}

func (d DeliveryRecord) message() MessageRef {
	return MessageRef{CompanyID: d.CompanyID, At: d.MessageAt, ID: d.MessageID}
}

func (d DeliveryRecord) endpoint() WebhookEndpointRef {
	return WebhookEndpointRef{CompanyID: d.CompanyID, Number: d.Endpoint}
}

func (d DeliveryRecord) secret() WebhookSecretRef {
	return WebhookSecretRef{CompanyID: d.CompanyID, Endpoint: d.Endpoint, Version: d.SecretVersion}
}

// newDelivery is the delivery of a message to an endpoint, due at once: with the URL and the active secret of now,
// whatever is changed later.
func (s *Service) newDelivery(at time.Time, message MessageRecord, endpoint WebhookEndpointRecord) DeliveryRecord {
	return DeliveryRecord{
		CompanyID: message.CompanyID, CreatedAt: at, ID: s.newID(), Endpoint: endpoint.Number, EndpointID: endpoint.ID,
		MessageAt: message.At, MessageID: message.ID, Type: message.Type, URL: endpoint.URL,
		SecretVersion: endpoint.ActiveSecret, Status: DeliveryPending, DueAt: at,
	}
}

// leased is the delivery in the hands of one process.
func (d DeliveryRecord) leased(until time.Time) DeliveryRecord {
	d.DueAt, d.LeasedUntil = until, until
	return d
}

// released is the delivery that a process had and did not try, or tried to no end, due again at a time.
func (d DeliveryRecord) released(at, due time.Time) DeliveryRecord {
	if d.Cancelling {
		return d.finished(DeliveryCancelled, at)
	}
	d.DueAt, d.LeasedUntil = due, time.Time{}
	return d
}

// succeeded is the delivery after an attempt that the receiver took.
func (d DeliveryRecord) succeeded(attempt DeliveryAttempt, at time.Time) DeliveryRecord {
	return d.attempted(attempt).finished(DeliverySucceeded, at)
}

// failed is the delivery after an attempt that failed: due again after a wait from then on, cancelled where that was
// asked for meanwhile, or FAILED for good. Jitter, from 0 to 1, lengthens the wait.
func (d DeliveryRecord) failed(attempt DeliveryAttempt, at time.Time, jitter float64) DeliveryRecord {
	d = d.attempted(attempt)
	switch tried := len(d.Attempts); {
	case d.Cancelling:
		return d.finished(DeliveryCancelled, at)
	case tried >= MaxDeliveryAttempts:
		return d.finished(DeliveryFailed, at)
	default:
		d.DueAt, d.LeasedUntil = at.Add(retryWait(tried, jitter)), time.Time{}
		return d
	}
}

// cancelled is the delivery of an endpoint that was disabled or deleted: one that is being tried finishes its attempt.
func (d DeliveryRecord) cancelled(at time.Time) DeliveryRecord {
	if d.LeasedUntil.After(at) {
		d.Cancelling = true
		return d
	}
	return d.finished(DeliveryCancelled, at)
}

func (d DeliveryRecord) attempted(attempt DeliveryAttempt) DeliveryRecord {
	d.Attempts = append(slices.Clone(d.Attempts), attempt)
	return d
}

func (d DeliveryRecord) finished(status DeliveryStatus, at time.Time) DeliveryRecord {
	d.Status, d.Cancelling, d.LeasedUntil, d.FinishedAt = status, false, time.Time{}, later(at, d.CreatedAt)
	return d
}

// retryWait is how long a delivery waits after so many failed attempts, at least one: 5, 10, 20 … 320 seconds, and up to
// a tenth more, so that those that failed together do not come back together.
func retryWait(tried int, jitter float64) time.Duration {
	const first = 5 * time.Second
	wait := first << (tried - 1)
	return wait + time.Duration(jitter*float64(wait/10)).Truncate(time.Millisecond)
}

// delivery is what an operator sees of the record at a time.
func (d DeliveryRecord) delivery(at time.Time) WebhookDelivery {
	shown := WebhookDelivery{
		ID: d.ID, CompanyID: d.CompanyID, EventID: d.MessageID, EventType: d.Type, EndpointID: d.EndpointID, URL: d.URL,
		Status: d.Status, Attempts: len(d.Attempts), CreatedAt: Time{d.CreatedAt}, FinishedAt: when(d.FinishedAt),
		Log: d.Attempts,
	}
	if last := len(d.Attempts) - 1; last >= 0 {
		shown.LastError = optional(d.Attempts[last].Error)
	}
	for _, attempt := range slices.Backward(d.Attempts) {
		if attempt.Status != 0 {
			shown.LastHTTPStatus = new(attempt.Status)
			break
		}
	}
	if d.Status == DeliveryPending && !d.LeasedUntil.After(at) {
		shown.NextAttemptAt = when(d.DueAt)
	}
	if d.ReplayOf != uuid.Nil {
		shown.ReplayOf = new(d.ReplayOf)
	}
	return shown
}
