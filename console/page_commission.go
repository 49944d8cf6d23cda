package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const commissionPath = "/business/{companyId}/commission"

// exampleGross is the sale of the page's example.
const exampleGross = money.Amount(10_000_00)

// commissionPage shows what the platform pays a company of each sale.
func commissionPage() page {
	return page{
		group: groupMoney,
		path:  commissionPath, scope: scopeCompany, title: "Commission", nav: "Commission",
		icon: "percent", permissions: []ticketing.Permission{ticketing.PermissionWalletRead}, template: "commission.html",
		load: loadCommission,
	}
}

// companyCommission is a company's schedule of rates.
type companyCommission struct {
	InForce *ticketing.CommissionRate `json:"inForce"` // nil: no rate is in force, so nothing can be sold
	// Gross is the example sale, and Earned its commission at the rate in force; nil: no rate is in force.
	Gross  money.Amount    `json:"gross"`
	Earned *money.Amount   `json:"earned"`
	Rates  []scheduledRate `json:"rates"` // in the order of the schedule, latest first
}

// scheduledRate is an entry of the schedule and whether it holds now.
type scheduledRate struct {
	ticketing.CommissionRate

	State  string       `json:"state"`  // UPCOMING, ACTIVE or PAST
	Earned money.Amount `json:"earned"` // of the example
}

// Percent returns the rate in the form that people read, such as "2.5 %".
func (r scheduledRate) Percent() string { return percentOf(r.CommissionRate) }

// Percent returns the rate in force in the form that people read.
func (c companyCommission) Percent() string { return percentOf(*c.InForce) }

func loadCommission(ctx context.Context, c *call) (view, error) {
	rates, err := c.operator.ListCommissionRates(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	return view{data: newCommission(rates, c.now)}, nil
}

// newCommission returns the schedule of entries that are newest first.
func newCommission(rates []ticketing.CommissionRate, now time.Time) companyCommission {
	shown := companyCommission{InForce: rateInForce(rates, now), Gross: exampleGross, Rates: []scheduledRate{}}
	for _, rate := range inSchedule(rates) {
		one := scheduledRate{CommissionRate: rate, State: "PAST", Earned: earnedOf(rate, exampleGross)}
		switch {
		case rate.EffectiveFrom.After(now):
			one.State = "UPCOMING"
		case shown.InForce != nil && rate.ID == shown.InForce.ID:
			one.State, shown.Earned = "ACTIVE", &one.Earned
		}
		shown.Rates = append(shown.Rates, one)
	}
	return shown
}

// inSchedule returns entries, newest first, in the order in which they hold: the latest first, and of two with one time
// the newer one first.
func inSchedule(rates []ticketing.CommissionRate) []ticketing.CommissionRate {
	sorted := slices.Clone(rates)
	slices.SortStableFunc(sorted, func(a, b ticketing.CommissionRate) int {
		return b.EffectiveFrom.Compare(a.EffectiveFrom.Time)
	})
	return sorted
}

// rateInForce returns the entry that a sale has now, of entries that are newest first: the one with the latest
// EffectiveFrom that is not in the future, and of two with one time the newer one (section 2.9, item 1).
func rateInForce(rates []ticketing.CommissionRate, now time.Time) *ticketing.CommissionRate {
	var found *ticketing.CommissionRate
	for i, rate := range rates {
		if rate.EffectiveFrom.After(now) || found != nil && !rate.EffectiveFrom.After(found.EffectiveFrom.Time) {
			continue
		}
		found = &rates[i]
	}
	return found
}

// earnedOf returns the commission of a sale.
func earnedOf(rate ticketing.CommissionRate, gross money.Amount) money.Amount {
	parsed, err := money.ParseRate(rate.Value, rate.Unit)
	if err != nil {
		return 0 // The service parsed what it keeps.
	}
	return parsed.Of(gross)
}

// percentOf returns a rate in percent, such as "2.5 %", whatever its unit. It moves the point of the plain decimal.
func percentOf(rate ticketing.CommissionRate) string {
	shift := map[money.Unit]int{money.BasisPoints: -2, money.Percent: 0, money.Fraction: 2}[rate.Unit]
	return movePoint(rate.Value, shift) + " %"
}

// movePoint moves the point of a plain decimal to the right by a number of digits, or to the left if it is negative.
func movePoint(value string, by int) string {
	whole, fraction, _ := strings.Cut(value, ".")
	at := len(whole) + by
	digits := whole + fraction
	if at < 1 {
		digits, at = strings.Repeat("0", 1-at)+digits, 1
	}
	if at > len(digits) {
		digits += strings.Repeat("0", at-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:at], "0"), strings.TrimRight(digits[at:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
