package ticketing

import (
	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// OrderStatus is the state of an order (section 3.3).
type OrderStatus = driver.OrderStatus

// The statuses of an order. A checkout creates it CONFIRMED. [Operator.CancelOrder] and [Operator.RefundOrder] move it,
// once; both of the other statuses are final.
const (
	OrderConfirmed = driver.OrderConfirmed
	OrderCancelled = driver.OrderCancelled
	OrderRefunded  = driver.OrderRefunded
)

// Order is a sale (section 2.6). All but its status are immutable snapshots taken at checkout: a later rate, price or
// branding never changes them. The one exception is [Operator.EraseBuyer], which removes the buyer.
type Order struct {
	ID           uuid.UUID       `json:"id"`
	Object       string          `json:"object"` // always "order"
	EventID      uuid.UUID       `json:"eventId"`
	Status       OrderStatus     `json:"status"`
	Gross        money.Amount    `json:"gross"`        // the sum of the unit prices of its lines
	FloatDebited money.Amount    `json:"floatDebited"` // always equal to Gross
	Commission   OrderCommission `json:"commission"`
	Balances     OrderBalances   `json:"balances"`
	Buyer        Buyer           `json:"buyer"`
	Branding     Branding        `json:"branding"`    // of the company at the sale
	Lines        []OrderLine     `json:"lines"`       // 1 to 50, by tier
	ConfirmedAt  Time            `json:"confirmedAt"` // the time of its ledger entries
	CreatedAt    Time            `json:"createdAt"`   // equal to ConfirmedAt: a checkout confirms at once
}

// OrderCommission is the commission of an order and the rate that it was computed with. The amount was rounded once,
// half up, to the kobo.
type OrderCommission struct {
	Amount money.Amount `json:"amount"`
	Rate   OrderRate    `json:"rate"`
}

// OrderRate is the commission rate that was effective at the time of the sale. A value means nothing without its unit.
type OrderRate struct {
	ID    uuid.UUID  `json:"id"`
	Value string     `json:"value"`
	Unit  money.Unit `json:"unit"`
}

// OrderBalances are both balances before and after the sale. The sale itself made no other movement; between two orders
// there may be fundings, refunds and settlements.
type OrderBalances struct {
	FloatBefore    money.Amount `json:"floatBefore"`
	FloatAfter     money.Amount `json:"floatAfter"`
	EarningsBefore money.Amount `json:"earningsBefore"`
	EarningsAfter  money.Amount `json:"earningsAfter"`
}

// Buyer is the person who bought an order, as given at that checkout.
type Buyer struct {
	Email    string  `json:"email"`
	Fullname *string `json:"fullname"`
	Phone    *string `json:"phone"`
}

// OrderLine is one admission of an order: a quantity of three is three lines.
type OrderLine struct {
	ID          uuid.UUID    `json:"id"` // of the line, not of the admission
	AdmissionID uuid.UUID    `json:"admissionId"`
	Title       string       `json:"title"`
	Tier        string       `json:"tier"`
	UnitPrice   money.Amount `json:"unitPrice"`
}

// OrderFilter selects the orders of a listing (section 4.8).
type OrderFilter struct {
	PageParams

	EventID  uuid.UUID     // zero: of any event; an unknown one gives an empty page
	Statuses []OrderStatus // empty: any; a status may be named once
}
