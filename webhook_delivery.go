package ticketing

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// DeliveryStatus is the state of a delivery (section 3.5).
type DeliveryStatus = driver.DeliveryStatus

// The statuses of a delivery. All but PENDING are final.
const (
	DeliveryPending   = driver.DeliveryPending
	DeliverySucceeded = driver.DeliverySucceeded
	DeliveryFailed    = driver.DeliveryFailed
	DeliveryCancelled = driver.DeliveryCancelled
)

// maxDeliveryError is the most characters of an attempt's error.
const maxDeliveryError = 200

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt = driver.DeliveryAttempt

// WebhookDelivery is a delivery as an operator sees it. It is one run of attempts: a replay is a delivery of its own,
// of the same event (section 6.3).
type WebhookDelivery struct {
	ID         uuid.UUID      `json:"id"`
	CompanyID  uuid.UUID      `json:"companyId"`
	EventID    uuid.UUID      `json:"eventId"`
	EventType  FactType       `json:"eventType"`
	EndpointID uuid.UUID      `json:"endpointId"`
	URL        string         `json:"url"` // of the endpoint when the delivery was made
	Status     DeliveryStatus `json:"status"`
	Attempts   int            `json:"attempts"`
	// LastHTTPStatus is the status of the latest response; nil if there was none. It is of the latest attempt that got
	// a response, which may be an earlier one than that of LastError.
	LastHTTPStatus *int `json:"lastHttpStatus"`
	// LastError is why the latest attempt failed, at most 200 characters. It is nil if that attempt succeeded, or if
	// there was none.
	LastError *string `json:"lastError"`
	// NextAttemptAt is when it is tried next. It is nil while it is being tried, and when it is final.
	NextAttemptAt *Time      `json:"nextAttemptAt"`
	CreatedAt     Time       `json:"createdAt"`
	FinishedAt    *Time      `json:"finishedAt"` // nil: it is PENDING
	ReplayOf      *uuid.UUID `json:"replayOf"`   // the delivery that this one replays; nil: it is no replay
	// Log are the attempts, oldest first. A list leaves it out.
	Log []DeliveryAttempt `json:"log,omitempty"`
}

// newDelivery returns the delivery of a message to an endpoint, due at once. It keeps the endpoint's present URL and
// active secret, whatever is changed later.
func (s *Service) newDelivery(at time.Time, message driver.Message, endpoint driver.WebhookEndpoint) driver.Delivery {
	return driver.Delivery{
		CompanyID: message.CompanyID, CreatedAt: at, ID: s.newID(), Endpoint: endpoint.Number, EndpointID: endpoint.ID,
		MessageAt: message.At, MessageID: message.ID, Type: message.Type, URL: endpoint.URL,
		SecretVersion: endpoint.ActiveSecret, Status: DeliveryPending, DueAt: at,
	}
}

// leaseDelivery returns the delivery with a lease for one process. DueAt is the end of the lease, so a delivery whose
// process was killed becomes due without further work.
func leaseDelivery(d driver.Delivery, until time.Time) driver.Delivery {
	d.DueAt, d.LeasedUntil = until, until
	return d
}

// releaseDelivery returns the delivery without its lease, due at the given time. No attempt is counted: the process did
// not try it, or cut the attempt off itself. A delivery that is being cancelled ends here.
func releaseDelivery(d driver.Delivery, at, due time.Time) driver.Delivery {
	if d.Cancelling {
		return finishDelivery(d, DeliveryCancelled, at)
	}
	d.DueAt, d.LeasedUntil = due, time.Time{}
	return d
}

// succeedDelivery returns the delivery after an attempt that the receiver accepted.
func succeedDelivery(d driver.Delivery, attempt DeliveryAttempt, at time.Time) driver.Delivery {
	return finishDelivery(addAttempt(d, attempt), DeliverySucceeded, at)
}

// cancelDelivery returns the delivery after its endpoint was disabled or deleted. A delivery that is being tried
// finishes its attempt first (section 3.5).
func cancelDelivery(d driver.Delivery, at time.Time) driver.Delivery {
	if d.LeasedUntil.After(at) {
		d.Cancelling = true
		return d
	}
	return finishDelivery(d, DeliveryCancelled, at)
}

// addAttempt returns the delivery with another attempt. It copies the log, since records share theirs with their
// copies.
func addAttempt(d driver.Delivery, attempt DeliveryAttempt) driver.Delivery {
	d.Attempts = append(slices.Clone(d.Attempts), attempt)
	return d
}

// finishDelivery returns the delivery in a final status, without a lease.
func finishDelivery(d driver.Delivery, status DeliveryStatus, at time.Time) driver.Delivery {
	d.Status, d.Cancelling, d.LeasedUntil, d.FinishedAt = status, false, time.Time{}, notBefore(at, d.CreatedAt)
	return d
}

// showDelivery returns what an operator sees of the record at the given time. A delivery under a lease shows no time of
// its next attempt, even if it still waits in the memory of a process.
func showDelivery(d driver.Delivery, at time.Time) WebhookDelivery {
	shown := WebhookDelivery{
		ID: d.ID, CompanyID: d.CompanyID, EventID: d.MessageID, EventType: d.Type, EndpointID: d.EndpointID, URL: d.URL,
		Status: d.Status, Attempts: len(d.Attempts), Log: d.Attempts,
		CreatedAt: Time{Time: d.CreatedAt}, FinishedAt: optionalTime(d.FinishedAt),
	}
	if last := len(d.Attempts) - 1; last >= 0 {
		shown.LastError = optional(d.Attempts[last].Error)
	}
	// The latest attempt may have had no response.
	for _, attempt := range slices.Backward(d.Attempts) {
		if attempt.Status != 0 {
			shown.LastHTTPStatus = new(attempt.Status)
			break
		}
	}
	// Under a lease DueAt is the end of the lease, which is no time for operators.
	if d.Status == DeliveryPending && !d.LeasedUntil.After(at) {
		shown.NextAttemptAt = optionalTime(d.DueAt)
	}
	if d.ReplayOf != uuid.Nil {
		shown.ReplayOf = new(d.ReplayOf)
	}
	return shown
}

// MaxDeliveryAttempts is the most attempts of a delivery (section 6.5).
const MaxDeliveryAttempts = 8

// failDelivery returns the delivery after an attempt that failed. It is CANCELLED if its endpoint was disabled
// meanwhile, FAILED after the eighth attempt, and otherwise due again after a wait. Jitter, from 0 to 1, lengthens the
// wait. The worker finds the delivery again when it is due (worker.look), and the deliverer makes the next attempt.
func failDelivery(d driver.Delivery, attempt DeliveryAttempt, at time.Time, jitter float64) driver.Delivery {
	d = addAttempt(d, attempt)
	switch tried := len(d.Attempts); {
	case d.Cancelling:
		return finishDelivery(d, DeliveryCancelled, at)
	case tried >= MaxDeliveryAttempts:
		return finishDelivery(d, DeliveryFailed, at)
	default:
		d.DueAt, d.LeasedUntil = at.Add(retryWait(tried, jitter)), time.Time{}
		return d
	}
}

// retryWait returns how long a delivery waits after the given number of failed attempts, at least one: 5, 10, 20 … 320
// seconds, and up to a tenth more. All waits together take about ten minutes (section 6.5). The jitter keeps deliveries
// that failed together from being tried together.
func retryWait(tried int, jitter float64) time.Duration {
	const first = 5 * time.Second
	wait := first << (tried - 1)
	return wait + time.Duration(jitter*float64(wait/10)).Truncate(time.Millisecond)
}
