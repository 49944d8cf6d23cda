package driver

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// SalesInterval is the length of time that a [SalesSum] covers. In every time zone of today, days begin at a multiple
// of it, so the sums of a day are exact in each zone.
const SalesInterval = 15 * time.Minute

// SalesSum is what a company sold, paid back and admitted in a quarter of an hour. The sum of a whole event also exists
// for all time, so that a list of events reads one sum for each.
type SalesSum struct {
	SalesSumRef

	// By the time of the sale. The sum of a tier counts the orders with an admission of it. It has no commission, because
	// commission belongs to an order.
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
	// Bounds are where the periods begin and end: each lasts from one bound to the next. They ascend, are multiples of
	// [SalesInterval], and are at least two.
	Bounds []time.Time
}

// PlatformTotals are totals of the sums of all companies.
type PlatformTotals struct {
	// Periods are the totals of all companies in each period, by time, as [SalesReader.SalesSums] has them for one
	// company. Of its reference a total has only At.
	Periods []SalesSum
	// Sellers are the totals of the companies that sold, refunded or admitted something within the bounds. They are
	// ordered by gross, the highest first, then by the company's id. Of its reference a total has only CompanyID.
	Sellers []SalesSum
}

// SalesProgress is how far a company's sums are complete. The sums contain everything that happened with an order whose
// number is above Uncounted, except what a fact stands for that is not dispatched. They contain nothing of the other
// orders.
type SalesProgress struct {
	CompanyID uuid.UUID
	Uncounted int64 // 0: every order is counted. See also [SalesReset]
}

// SalesReset is the Uncounted of a company whose sums are to be computed again from its orders. No order is counted.
// The sums that are still kept mean nothing, and are removed before the first order is counted.
const SalesReset int64 = math.MaxInt64

// BuyerOrder is an entry of the index that finds the orders of a buyer.
type BuyerOrder struct {
	CompanyID uuid.UUID
	Email     string
	Number    int64 // of the order
}

// SalesReader finds sums of sales.
type SalesReader interface {
	// SalesSums returns the total of each tier and each period between two bounds of the query, by tier, then time. The At
	// of a total is the beginning of its period. A period without sums is left out. No total includes the sum of all time,
	// here or in the methods below.
	SalesSums(ctx context.Context, query SalesSumQuery) ([]SalesSum, error)
	// SalesTotals returns the total of each event over the intervals at or after from and before to, in the order of the
	// events. The zero event is the company as a whole. A zero time is no limit. A total has no Tier and no At, and is the
	// zero record where nothing is kept.
	SalesTotals(ctx context.Context, companyID uuid.UUID, events []uuid.UUID, from, to time.Time) ([]SalesSum, error)
	// EventSums returns the sum of all time of each event, in the order of the events, or the zero record where none is
	// kept. The events may be of several companies.
	EventSums(ctx context.Context, events []EventRef) ([]SalesSum, error)
	// PlatformSums returns the totals of all companies between bounds such as those of a [SalesSumQuery], with at most as
	// many sellers as given. It reads each sum once. Companies whose progress is [SalesReset] are left out.
	PlatformSums(ctx context.Context, bounds []time.Time, sellers int) (PlatformTotals, error)
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
	// AddSales adds to sums, new or existing. A sum of all time is that of an event without a tier. No two of them have
	// the same reference. They are sorted by their references, so that two transactions that add to the same sums do not
	// deadlock.
	AddSales(ctx context.Context, sums []SalesSum) error
	// DeleteSalesSums removes the first sums of a company by event, tier and time, at most limit of them, and returns how
	// many.
	DeleteSalesSums(ctx context.Context, companyID uuid.UUID, limit int) (int, error)
	// PutBuyerOrders keeps entries of the index of buyers. It does not change an entry that exists already.
	PutBuyerOrders(ctx context.Context, entries []BuyerOrder) error
	// DeleteBuyerOrders removes entries of one buyer, by the numbers of the orders. It ignores entries that do not exist.
	DeleteBuyerOrders(ctx context.Context, buyer BuyerRef, numbers []int64) error
}
