package driver

import (
	"context"
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

// OrderEndingReader finds the endings of orders.
type OrderEndingReader interface {
	// OrderEndings returns the endings of orders, and the zero record for an order without one.
	OrderEndings(ctx context.Context, orders []OrderNumber) ([]OrderEnding, error)
	// ListOrderEndings returns a company's order endings, by the number of the order.
	ListOrderEndings(ctx context.Context, query OrderEndingQuery) ([]OrderEnding, error)
}

// OrderEndingWriter ends orders. The caller has locked all admissions of the order before, so that no validation runs
// at the same time.
type OrderEndingWriter interface {
	// AppendOrderEnding keeps the ending of an order. It can never be changed or removed.
	AppendOrderEnding(ctx context.Context, ending OrderEnding) error
	// UpdateOrderStatus updates the status of an order.
	UpdateOrderStatus(ctx context.Context, order OrderNumber, status OrderStatus) error
}
