package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// OrderStatus is where an order stands (section 3.3).
type OrderStatus string

// The statuses of an order.
const (
	OrderConfirmed OrderStatus = "CONFIRMED"
	OrderCancelled OrderStatus = "CANCELLED"
	OrderRefunded  OrderStatus = "REFUNDED"
)

// Order is a sale (section 2.6). All but its status are immutable snapshots taken at checkout; [Operator.EraseBuyer]
// takes the buyer out of one.
type Order struct {
	ID           uuid.UUID       `json:"id"`
	Object       string          `json:"object"` // "order"
	EventID      uuid.UUID       `json:"eventId"`
	Status       OrderStatus     `json:"status"`
	Gross        money.Amount    `json:"gross"`
	FloatDebited money.Amount    `json:"floatDebited"`
	Commission   OrderCommission `json:"commission"`
	Balances     OrderBalances   `json:"balances"`
	Buyer        Buyer           `json:"buyer"`
	Branding     Branding        `json:"branding"`
	Lines        []OrderLine     `json:"lines"`
	ConfirmedAt  Time            `json:"confirmedAt"`
	CreatedAt    Time            `json:"createdAt"`
}

// OrderCommission is the commission of an order and the rate it was computed with.
type OrderCommission struct {
	Amount money.Amount `json:"amount"`
	Rate   OrderRate    `json:"rate"`
}

// OrderRate is the rate of the moment of the sale. A rate is never guessed from its value: read its unit.
type OrderRate struct {
	ID    uuid.UUID  `json:"id"`
	Value string     `json:"value"`
	Unit  money.Unit `json:"unit"`
}

// OrderBalances are both balances around the sale. Those of one order begin where those of the order before ended.
type OrderBalances struct {
	FloatBefore    money.Amount `json:"floatBefore"`
	FloatAfter     money.Amount `json:"floatAfter"`
	EarningsBefore money.Amount `json:"earningsBefore"`
	EarningsAfter  money.Amount `json:"earningsAfter"`
}

// Buyer is who bought.
type Buyer struct {
	Email    string  `json:"email"`
	Fullname *string `json:"fullname"`
	Phone    *string `json:"phone"`
}

// OrderLine is one admission of an order.
type OrderLine struct {
	ID          uuid.UUID    `json:"id"`
	AdmissionID uuid.UUID    `json:"admissionId"`
	Title       string       `json:"title"`
	Tier        string       `json:"tier"`
	UnitPrice   money.Amount `json:"unitPrice"`
}

// OrderFilter says which orders are listed.
type OrderFilter struct {
	PageParams

	EventID  uuid.UUID     // zero: of any event
	Statuses []OrderStatus // empty: any; no two alike
}

// OrderRecord is an order as a store keeps it. All but the status and the buyer never changes.
type OrderRecord struct {
	CompanyID      uuid.UUID
	Number         int64 // the sequence of its FLOAT entry: the order of sales, without a clock
	ID             uuid.UUID
	EventID        uuid.UUID
	Status         OrderStatus
	Gross          money.Amount
	Commission     money.Amount
	RateID         uuid.UUID
	Branding       int64 // the version
	FloatBefore    money.Amount
	EarningsBefore money.Amount
	BuyerEmail     string
	BuyerFullname  string // empty: none
	BuyerPhone     string // empty: none
	ConfirmedAt    time.Time
	CreatedAt      time.Time
}

// AdmissionRecord is a sold admission and the line of its order.
type AdmissionRecord struct {
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

// OrderRef names an order by its id.
type OrderRef struct{ CompanyID, ID uuid.UUID }

// OrderNumber names an order by its number.
type OrderNumber struct {
	CompanyID uuid.UUID
	Number    int64
}

// AdmissionRef names a sold admission.
type AdmissionRef struct{ CompanyID, ID uuid.UUID }

// OrderQuery asks for a part of the list of a company's orders, highest number first.
type OrderQuery struct {
	CompanyID  uuid.UUID
	EventID    uuid.UUID     // zero: of any event
	Statuses   []OrderStatus // empty: any
	BuyerEmail string        // empty: of any buyer
	Before     int64         // zero: from the newest
	After      int64         // only those with higher numbers
	Limit      int
}

// BuyerRecord is a buyer of a company, as the latest checkout knew them.
type BuyerRecord struct {
	CompanyID uuid.UUID
	Email     string
	Fullname  string
	Phone     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// BuyerRef names a buyer.
type BuyerRef struct {
	CompanyID uuid.UUID
	Email     string
}

// OrderReader finds orders, their admissions and their buyers.
type OrderReader interface {
	Orders(ctx context.Context, refs []OrderRef) ([]OrderRecord, error)
	// FindOrder finds an order by its id alone, as an operator names it; the zero record where there is none.
	FindOrder(ctx context.Context, id uuid.UUID) (OrderRecord, error)
	// ListOrders may, for one buyer, take as long as there are orders: nothing that a sale writes finds them faster.
	ListOrders(ctx context.Context, query OrderQuery) ([]OrderRecord, error)
	// OrderLines answers with the admissions of the orders, by company, number and line.
	OrderLines(ctx context.Context, orders []OrderNumber) ([]AdmissionRecord, error)
	Admissions(ctx context.Context, refs []AdmissionRef) ([]AdmissionRecord, error)
	Buyers(ctx context.Context, refs []BuyerRef) ([]BuyerRecord, error)
}

// OrderWriter keeps orders, their admissions and their buyers.
type OrderWriter interface {
	AppendOrders(ctx context.Context, orders []OrderRecord) error
	AppendAdmissions(ctx context.Context, admissions []AdmissionRecord) error
	// LockAdmissions reads admissions and keeps other writers from them.
	LockAdmissions(ctx context.Context, refs []AdmissionRef) ([]AdmissionRecord, error)
	// UpdateAdmissions keeps the validation and Voided of admissions that were locked.
	UpdateAdmissions(ctx context.Context, admissions []AdmissionRecord) error
	// PutBuyers keeps buyers, new or known; the time of creation of a known one stays. No two are of one company and
	// email.
	PutBuyers(ctx context.Context, buyers []BuyerRecord) error
	// ReplaceBuyer keeps another record, of the same company, in place of a buyer's; the time of creation stays.
	ReplaceBuyer(ctx context.Context, ref BuyerRef, buyer BuyerRecord) error
	// UpdateOrderBuyers keeps the email, the name and the phone of orders, found by their numbers.
	UpdateOrderBuyers(ctx context.Context, orders []OrderRecord) error
}
