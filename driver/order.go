package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// OrderStatus is the state of an order (section 3.3).
type OrderStatus string

// The statuses of an order. A checkout creates it CONFIRMED. The operator's CancelOrder and RefundOrder change it,
// once; both other statuses are final.
const (
	OrderConfirmed OrderStatus = "CONFIRMED"
	OrderCancelled OrderStatus = "CANCELLED"
	OrderRefunded  OrderStatus = "REFUNDED"
)

// Order is an order as a store keeps it. Only its status and its buyer ever change. What can be computed is not kept:
// the gross was debited from FloatBefore, and the commission was added to EarningsBefore.
type Order struct {
	CompanyID      uuid.UUID
	Number         int64 // the sequence of its FLOAT entry, which orders sales without a clock
	ID             uuid.UUID
	EventID        uuid.UUID
	Status         OrderStatus
	Gross          money.Amount
	Commission     money.Amount
	RateID         uuid.UUID
	Branding       int64 // the version that was current at the sale
	FloatBefore    money.Amount
	EarningsBefore money.Amount
	BuyerEmail     string
	BuyerFullname  string // empty: none
	BuyerPhone     string // empty: none
	ConfirmedAt    time.Time
	CreatedAt      time.Time
}

// NumberRef returns the reference of the order by its number.
func (o Order) NumberRef() OrderNumber {
	return OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
}

// Admission is a sold admission, which is also the line of its order. An unsold admission has no record: it is counted
// in a batch.
type Admission struct {
	CompanyID   uuid.UUID
	OrderNumber int64
	Line        int       // 1, 2, 3 …
	ID          uuid.UUID // of the admission
	LineID      uuid.UUID
	OrderID     uuid.UUID
	EventID     uuid.UUID
	Tier        string
	Batch       int // the position of the batch it was sold from
	Title       string
	UnitPrice   money.Amount
	Voided      bool // the order was cancelled or refunded

	ValidationID uuid.UUID // zero: not validated
	ValidatedAt  time.Time
	Location     string
}

// OrderRef returns the reference of the admission's order.
func (a Admission) OrderRef() OrderRef { return OrderRef{CompanyID: a.CompanyID, ID: a.OrderID} }

// BatchRef returns the reference of the batch that the admission was sold from.
func (a Admission) BatchRef() BatchRef {
	return BatchRef{CompanyID: a.CompanyID, EventID: a.EventID, Tier: a.Tier, Position: a.Batch}
}

// OrderRef identifies an order by its id.
type OrderRef struct{ CompanyID, ID uuid.UUID }

// OrderNumber identifies an order by its number.
type OrderNumber struct {
	CompanyID uuid.UUID
	Number    int64
}

// AdmissionRef identifies a sold admission.
type AdmissionRef struct{ CompanyID, ID uuid.UUID }

// OrderQuery selects orders of a company, highest number first.
type OrderQuery struct {
	CompanyID   uuid.UUID
	EventID     uuid.UUID     // zero: of any event
	Statuses    []OrderStatus // empty: any
	BuyerEmail  string        // empty: of any buyer
	After       int64         // only lower numbers; zero: from the newest
	AboveNumber int64         // only higher numbers
	Limit       int
	// Indexed selects only orders that have an entry of BuyerEmail in the index of buyers, see [BuyerOrder]. It finds a
	// few orders among many fast.
	Indexed bool
}

// BuyerQuery selects buyers of a company, by email.
type BuyerQuery struct {
	CompanyID uuid.UUID
	Prefix    string // of the email; empty: any
	After     string // only higher emails
	Limit     int
}

// Buyer is a buyer of a company, with the name and phone of the latest checkout. Each company has its own record of an
// email, so companies never see each other's buyers.
type Buyer struct {
	CompanyID uuid.UUID
	Email     string
	Fullname  string
	Phone     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// BuyerRef identifies a buyer.
type BuyerRef struct {
	CompanyID uuid.UUID
	Email     string
}

// OrderReader finds orders with their admissions, their endings and their buyers.
type OrderReader interface {
	// Orders returns orders by id.
	Orders(ctx context.Context, refs []OrderRef) ([]Order, error)
	// FindOrder finds an order by its id alone, without its company. It returns the zero record where there is none.
	FindOrder(ctx context.Context, id uuid.UUID) (Order, error)
	// ListOrders returns orders, highest number first. For one buyer it may take time in proportion to the orders that it
	// searches, unless the query is Indexed. No other index exists, because every sale would have to write it.
	ListOrders(ctx context.Context, query OrderQuery) ([]Order, error)
	// OrderLines returns the admissions of the orders, by company, number and line.
	OrderLines(ctx context.Context, orders []OrderNumber) ([]Admission, error)
	// OrderEndings returns the endings of orders, and the zero record for an order without one.
	OrderEndings(ctx context.Context, orders []OrderNumber) ([]OrderEnding, error)
	// Admissions returns sold admissions by id. An id that was never sold is the zero record.
	Admissions(ctx context.Context, refs []AdmissionRef) ([]Admission, error)
	// Buyers returns buyers by email.
	Buyers(ctx context.Context, refs []BuyerRef) ([]Buyer, error)
	// ListBuyers returns buyers by email, by code point.
	ListBuyers(ctx context.Context, query BuyerQuery) ([]Buyer, error)
}

// OrderWriter keeps orders with their admissions, their endings and their buyers. The caller locks all admissions of an
// order before it ends the order, so that no validation runs at the same time.
type OrderWriter interface {
	// AppendOrders keeps new orders. A number or an id that exists breaks a constraint.
	AppendOrders(ctx context.Context, orders []Order) error
	// UpdateOrderStatus updates the status of an order.
	UpdateOrderStatus(ctx context.Context, order OrderNumber, status OrderStatus) error
	// AppendOrderEnding keeps the ending of an order. It can never be changed or removed.
	AppendOrderEnding(ctx context.Context, ending OrderEnding) error
	// AppendAdmissions keeps the admissions of new orders.
	AppendAdmissions(ctx context.Context, admissions []Admission) error
	// LockAdmissions reads admissions and locks them until the end of the transaction.
	LockAdmissions(ctx context.Context, refs []AdmissionRef) ([]Admission, error)
	// UpdateAdmissions keeps the validation and Voided of admissions that were locked.
	UpdateAdmissions(ctx context.Context, admissions []Admission) error
	// PutBuyers creates or replaces buyers. The time of creation of an existing one stays. No two of them have the same
	// company and email.
	PutBuyers(ctx context.Context, buyers []Buyer) error
	// ReplaceBuyer replaces the record of a buyer by another record of the same company. The time of creation stays.
	ReplaceBuyer(ctx context.Context, ref BuyerRef, buyer Buyer) error
	// UpdateOrderBuyers keeps the email, the name and the phone of orders, which it finds by their numbers.
	UpdateOrderBuyers(ctx context.Context, orders []Order) error
}

// SaleTerms are the conditions under which an event's tickets are sold. The company's gate guards them, so they do not
// change during a sale. A sale reads them in one statement, after it holds the gate.
type SaleTerms struct {
	SaleTermsRef

	Status   EventStatus // of the event; empty: there is no such event
	Branding Branding    // zero: there is no such version
	Rate     Rate        // the effective one (section 2.9, item 1); zero: none is effective
}

// SaleTermsRef identifies an event and a version of its company's branding.
type SaleTermsRef struct {
	EventRef

	BrandingVersion int64
}
