// Package sales computes what happened to orders as sums of sales. A sale, a refund and a validation each add to the
// sums of the company, of the event and of the tiers, in the quarter of an hour in which they happened. They also add
// to the total of the event.
package sales

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Sold calls add with what the sale of an order adds to the sums. lines are all its admissions.
func Sold(order *driver.Order, lines []driver.Admission, add func(driver.SalesSum)) {
	whole := driver.SalesSum{
		Orders: 1, Admissions: int64(len(lines)), Gross: order.Gross, Commission: order.Commission,
	}
	both(order.CompanyID, order.EventID, order.ConfirmedAt, whole, add)
	for i, line := range lines {
		sum := driver.SalesSum{Admissions: 1, Gross: line.UnitPrice}
		// An order counts once in each of its tiers.
		if !slices.ContainsFunc(lines[:i], func(other driver.Admission) bool { return other.Tier == line.Tier }) {
			sum.Orders = 1
		}
		sum.SalesSumRef = ref(order.CompanyID, order.EventID, line.Tier, order.ConfirmedAt)
		add(sum)
	}
}

// Refunded calls add with what the refund of an order adds to the sums. lines are all its admissions, and at is the
// time of the refund.
func Refunded(order *driver.Order, lines []driver.Admission, at time.Time, add func(driver.SalesSum)) {
	both(order.CompanyID, order.EventID, at, driver.SalesSum{Refunded: order.Gross, Reversed: order.Commission}, add)
	for _, line := range lines {
		add(driver.SalesSum{
			SalesSumRef: ref(order.CompanyID, order.EventID, line.Tier, at), Refunded: line.UnitPrice,
		})
	}
}

// Admitted calls add with what the validation of an admission adds to the sums.
func Admitted(a *driver.Admission, add func(driver.SalesSum)) {
	one := driver.SalesSum{Admitted: 1}
	both(a.CompanyID, a.EventID, a.ValidatedAt, one, add)
	one.SalesSumRef = ref(a.CompanyID, a.EventID, a.Tier, a.ValidatedAt)
	add(one)
}

// both calls add with a sum of the company and of the event.
func both(companyID, eventID uuid.UUID, at time.Time, sum driver.SalesSum, add func(driver.SalesSum)) {
	for _, of := range []uuid.UUID{{}, eventID} {
		sum.SalesSumRef = ref(companyID, of, "", at)
		add(sum)
	}
	sum.At = time.Time{} // of all time
	add(sum)
}

// ref returns the reference of the sum that a time belongs to.
func ref(companyID, eventID uuid.UUID, tier string, at time.Time) driver.SalesSumRef {
	// Truncate counts from the year 1, which began at a multiple of the interval before 1970.
	return driver.SalesSumRef{
		CompanyID: companyID, EventID: eventID, Tier: tier, At: at.UTC().Truncate(driver.SalesInterval),
	}
}

// Tally adds up sums.
type Tally map[driver.SalesSumRef]driver.SalesSum

// Add adds to the sum of its reference.
func (t Tally) Add(sum driver.SalesSum) {
	kept := t[sum.SalesSumRef]
	sum.Orders += kept.Orders
	sum.Admissions += kept.Admissions
	sum.Gross += kept.Gross
	sum.Commission += kept.Commission
	sum.Refunded += kept.Refunded
	sum.Reversed += kept.Reversed
	sum.Admitted += kept.Admitted
	t[sum.SalesSumRef] = sum
}

// Sums returns the sums, sorted by their references as [driver.SalesWriter] wants them. It leaves out those of zeros
// alone, such as that of a free refund.
func (t Tally) Sums() []driver.SalesSum {
	sums := make([]driver.SalesSum, 0, len(t))
	for ref, sum := range t {
		if sum != (driver.SalesSum{SalesSumRef: ref}) {
			sums = append(sums, sum)
		}
	}
	slices.SortFunc(sums, func(a, b driver.SalesSum) int { return Compare(a.SalesSumRef, b.SalesSumRef) })
	return sums
}

// Compare compares references in the order in which a store lists them.
func Compare(a, b driver.SalesSumRef) int {
	return cmp.Or(bytes.Compare(a.CompanyID[:], b.CompanyID[:]), bytes.Compare(a.EventID[:], b.EventID[:]),
		strings.Compare(a.Tier, b.Tier), a.At.Compare(b.At))
}
