package driver

import (
	"time"

	"github.com/google/uuid"
)

// OrderEnding is the refund or cancellation of an order as a store keeps it. An order has at most one, and it
// never changes.
type OrderEnding struct {
	CompanyID        uuid.UUID
	Number           int64 // of the order
	OrderID          uuid.UUID
	Status           OrderStatus // REFUNDED or CANCELLED
	Reason           string
	Restocked        bool  // its admissions no longer count as sold, see ticketing.RefundParams
	FloatSequence    int64 // of the FLOAT entry that returns the gross; 0 for a cancelled order
	EarningsSequence int64 // of the EARNINGS entry that reverses the commission; 0 for a cancelled order
	At               time.Time
}

// OrderEndingQuery selects a part of the endings of a company's orders, lowest number first.
type OrderEndingQuery struct {
	CompanyID uuid.UUID
	After     int64 // only orders with higher numbers
	Limit     int
}
