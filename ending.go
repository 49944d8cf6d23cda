package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// OrderEnding is what ended an order, as an operator sees it.
type OrderEnding struct {
	Reason    string `json:"reason"`
	Restocked bool   `json:"restocked"` // its admissions count as unsold; not on sale in a tier that was cancelled
	At        Time   `json:"at"`
}

// OrderEndingRecord is what ended an order as a store keeps it: once, and never changed.
type OrderEndingRecord struct {
	CompanyID        uuid.UUID
	Number           int64 // of the order
	OrderID          uuid.UUID
	Status           OrderStatus // REFUNDED or CANCELLED
	Reason           string
	Restocked        bool  // its admissions count as sold no more, see RefundParams
	FloatSequence    int64 // of what FLOAT got back; 0 for a cancelled order
	EarningsSequence int64 // of what EARNINGS gave back; 0 for a cancelled order
	At               time.Time
}

// OrderEndingQuery asks for a part of what ended a company's orders, lowest number first.
type OrderEndingQuery struct {
	CompanyID uuid.UUID
	After     int64 // the number of the order to begin behind
	Limit     int
}

// OrderEndingReader finds what ended orders.
type OrderEndingReader interface {
	OrderEndings(ctx context.Context, orders []OrderNumber) ([]OrderEndingRecord, error)
	ListOrderEndings(ctx context.Context, query OrderEndingQuery) ([]OrderEndingRecord, error)
}

// OrderEndingWriter ends orders. Whoever does has locked all admissions of the order before.
type OrderEndingWriter interface {
	// AppendOrderEnding keeps what ended an order. It can never be changed or removed.
	AppendOrderEnding(ctx context.Context, ending OrderEndingRecord) error
	// UpdateOrderStatus keeps the status of an order.
	UpdateOrderStatus(ctx context.Context, order OrderNumber, status OrderStatus) error
}
