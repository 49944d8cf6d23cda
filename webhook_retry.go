package ticketing

import (
	"time"

	"github.com/floatgate/ticketing/driver"
)

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
