package driver

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// SalesInterval is the length of time that a [SalesSum] covers. The days of every time zone of today begin at a
// multiple of it, so the sums of a day are exact in each.
const SalesInterval = 15 * time.Minute

// SalesSum is what a company sold, paid back and admitted in a quarter of an hour. An event as a whole also has one of
// all time, so that a list of events reads one for each.
type SalesSum struct {
	SalesSumRef

	// By the time of the sale. The sum of a tier counts the orders with an admission of it, and has no commission: that
	// belongs to an order.
	Orders     int64
	Admissions int64
	Gross      money.Amount
	Commission money.Amount

	// By the time of the refund: the gross that was paid back, and the commission that was taken back. A cancelled order
	// moves no money.
	Refunded money.Amount
	Reversed money.Amount

	Admitted int64 // admissions, by the time of their validation
}

// SalesSumRef identifies a sum.
type SalesSumRef struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID // zero: the company as a whole
	Tier      string    // empty: the event as a whole
	At        time.Time // the beginning of the [SalesInterval]; zero: all time
}

// SalesSumQuery selects sums of a company and adds them up by time.
type SalesSumQuery struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID // zero: the company as a whole
	Tiers     bool      // those of each tier of the event instead of the event as a whole
	// Bounds are where the times begin and end: each lasts from one of them to the next. They ascend, and are multiples of
	// [SalesInterval], at least two.
	Bounds []time.Time
}

// SalesProgress is how far a company's sums are complete. What happened with an order whose number is above Uncounted
// is in the sums, except what a fact stands for that is not dispatched. Nothing that happened with the others is.
type SalesProgress struct {
	CompanyID uuid.UUID
	Uncounted int64 // 0: every order is counted. See also [SalesReset]
}

// SalesReset is the Uncounted of a company whose sums are to be computed from its orders again. No order is counted,
// and the sums that are kept are left over: they mean nothing, and are removed before the first order is counted.
const SalesReset int64 = math.MaxInt64

// BuyerOrder is an entry of the index that finds the orders of a buyer.
type BuyerOrder struct {
	CompanyID uuid.UUID
	Email     string
	Number    int64 // of the order
}

// SalesReader finds sums of sales.
type SalesReader interface {
	// SalesSums returns the total of each tier and each time between two bounds of the query, by tier, then time. The
	// At of a total is the beginning of its time. One of which nothing is kept is left out. No total has the sum of all
	// time in it, here or in the methods below.
	SalesSums(ctx context.Context, query SalesSumQuery) ([]SalesSum, error)
	// SalesTotals returns the total of each event over the intervals at or after from and before to, in the order of the
	// events. The zero event is the company as a whole. A zero time is no limit. A total has no Tier and no At, and is the
	// zero record where nothing is kept.
	SalesTotals(ctx context.Context, companyID uuid.UUID, events []uuid.UUID, from, to time.Time) ([]SalesSum, error)
	// EventSums returns the sum of all time of each event, in the order of the events, and the zero record where none is
	// kept.
	EventSums(ctx context.Context, companyID uuid.UUID, events []uuid.UUID) ([]SalesSum, error)
	// PlatformSums returns the totals of all companies in each time between two bounds, as SalesSums does for one. A total
	// has no reference but At. Companies whose progress is [SalesReset] are left out.
	PlatformSums(ctx context.Context, bounds []time.Time) ([]SalesSum, error)
	// LargestSellers returns the totals of the companies that sold something, or refunded or admitted, in the intervals at
	// or after from and before to: by gross, the highest first, then by the company's id. A total has no reference but
	// CompanyID. Companies whose progress is [SalesReset] are left out.
	LargestSellers(ctx context.Context, from, to time.Time, limit int) ([]SalesSum, error)
	// ListSalesSums returns a company's sums after one of them, by event, tier and time. The zero reference is the
	// beginning.
	ListSalesSums(ctx context.Context, after SalesSumRef, limit int) ([]SalesSum, error)
	// SalesProgress returns how far the sums of companies are complete.
	SalesProgress(ctx context.Context, companies []uuid.UUID) ([]SalesProgress, error)
}

// SalesWriter keeps sums of sales.
type SalesWriter interface {
	// LockSalesProgress reads the progress of a company and locks it until the end of the transaction.
	LockSalesProgress(ctx context.Context, companyID uuid.UUID) (SalesProgress, error)
	// PutSalesProgress keeps the progress of a company.
	PutSalesProgress(ctx context.Context, progress SalesProgress) error
	// AddSales adds to sums, new or known. One of all time is of an event without a tier. No two of them have the same
	// reference. They are sorted by their references, so that two transactions that add to the same sums do not wait for
	// each other.
	AddSales(ctx context.Context, sums []SalesSum) error
	// DeleteSalesSums removes the first sums of a company by event, tier and time, at most limit of them, and returns how
	// many.
	DeleteSalesSums(ctx context.Context, companyID uuid.UUID, limit int) (int, error)
	// PutBuyerOrders keeps entries of the index of buyers. One that is kept already stays.
	PutBuyerOrders(ctx context.Context, entries []BuyerOrder) error
	// DeleteBuyerOrders removes entries of one buyer, by the numbers of the orders. It passes over those that are not
	// kept.
	DeleteBuyerOrders(ctx context.Context, buyer BuyerRef, numbers []int64) error
}
