package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// MaxTierAdmissions is the largest number of admissions that a tier may ever have.
const MaxTierAdmissions = 1_000_000

// InventoryStatus is the status of a tier (section 3.2).
type InventoryStatus string

// The statuses of a tier. A batch is never SOLD_OUT, since its counts show that it is.
const (
	InventoryAvailable InventoryStatus = "AVAILABLE"
	InventoryPaused    InventoryStatus = "PAUSED"
	InventorySoldOut   InventoryStatus = "SOLD_OUT"
	InventoryCancelled InventoryStatus = "CANCELLED"
)

// Tier is the counter of a tier. Its lock serialises the creates, cancellations and price changes of the tier,
// and it holds the limit of admissions. A sale does not need it, so sales of one tier do not wait for its counter.
type Tier struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID
	Name      string
	Batches   int   // the number of batches, and the position of the newest
	Total     int64 // every admission ever created
	Cancelled bool  // some were cancelled since the newest batch was added
}

// Batch is a batch of admissions that are alike. Unsold admissions are counted and not enumerated: an admission
// gets an id and a row of its own when it is sold. A batch is open while it is not cancelled and Sold is below
// Quantity.
type Batch struct {
	CompanyID   uuid.UUID
	EventID     uuid.UUID
	Tier        string
	Position    int // 1, 2, 3 … in order of creation: the oldest is sold first
	Title       string
	Description string
	UnitPrice   money.Amount
	Status      InventoryStatus // AVAILABLE, PAUSED or CANCELLED
	Quantity    int64
	Sold        int64
	CreatedAt   time.Time
}

// BatchRef names a batch.
type BatchRef struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID
	Tier      string
	Position  int
}

// TierCount is a tier with the totals of its open batches.
type TierCount struct {
	Tier

	Available int64 // unsold and on sale
	Paused    int64 // unsold and paused
	// LowestPrice is the lowest price of an unsold admission, on sale or paused. It is meaningless if there is none.
	LowestPrice money.Amount
}

// BatchSum holds the totals of a tier's batches, open or not.
type BatchSum struct {
	Tier      string
	Total     int64
	Sold      int64
	Available int64 // unsold and on sale
	Paused    int64 // unsold and paused
	Cancelled int64 // unsold and cancelled
	// LowestPrice is the lowest price of an unsold admission, on sale or paused. It is meaningless if there is none.
	LowestPrice money.Amount
}

// EventCount holds the totals of an event's batches, open or not.
type EventCount struct {
	EventID   uuid.UUID
	Total     int64
	Sold      int64
	Available int64 // unsold and on sale
	Paused    int64 // unsold and paused
}

// PriceBand is how much of a tier is on sale at one price.
//
// A quote never mixes bands: it needs one exact price for each tier (section 4.6).
type PriceBand struct {
	Tier      string
	UnitPrice money.Amount
	Available int64
}

// PriceList is what a quote of an event is computed from.
type PriceList struct {
	EventStatus EventStatus
	Bands       []PriceBand
}

// PriceQuery asks for the status of an event and for what is on sale in the named tiers.
type PriceQuery struct {
	EventRef

	Tiers []string // never nil
}

// StockQuery asks for admissions that are on sale in one tier at one price.
//
// Quantity is how many admissions the sales of one group need of it.
type StockQuery struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID
	Tier      string
	UnitPrice money.Amount
	Quantity  int64
}

// StockTotal holds the totals of one tier's records, for the verification of the books. Total must equal Quantity, and
// Sold must equal Admissions less Restocked.
type StockTotal struct {
	EventID    uuid.UUID
	Tier       string
	Total      int64 // of the tier's counter
	Quantity   int64 // over all batches
	Sold       int64 // over all batches
	Admissions int64 // rows of sold admissions
	Restocked  int64 // those of them that count as unsold, because their order was refunded with a restock
}

// InventoryReader finds what can be sold, and the terms of its sale.
type InventoryReader interface {
	// CountTiers returns the named tiers of an event, or all for nil, in lexicographic order by code point. Its cost
	// depends on the open batches alone, not on how many admissions were ever sold.
	CountTiers(ctx context.Context, event EventRef, tiers []string) ([]TierCount, error)
	// ListBatches returns the batches of an event, open or not, by tier in the order of CountTiers, then position: at
	// most limit.
	ListBatches(ctx context.Context, event EventRef, limit int) ([]Batch, error)
	// SumBatches returns the totals of the batches of the named tiers of an event, or of all for nil, in the order of
	// CountTiers, all of one moment. Tiers without batches are left out. Its cost depends on the batches of these
	// tiers, not on how many admissions were ever sold.
	SumBatches(ctx context.Context, event EventRef, tiers []string) ([]BatchSum, error)
	// CountEvents returns the totals of events, which may be of several companies, in the order of the events, and the
	// zero record for an event without batches. Its cost depends on their batches, not on how many admissions were ever
	// sold.
	CountEvents(ctx context.Context, events []EventRef) ([]EventCount, error)
	// PriceList returns the status of an event, empty if there is none, and what is on sale in the named tiers, which are
	// never nil, by tier, then price. Both are of one moment.
	PriceList(ctx context.Context, event EventRef, tiers []string) (PriceList, error)
	// SaleTerms returns the terms of sales at a time, in the order of refs. It sets the reference even where nothing is
	// kept. It returns what Events, Brandings and EffectiveRates return, in one statement.
	SaleTerms(ctx context.Context, refs []SaleTermsRef, at time.Time) ([]SaleTerms, error)
}

// InventoryWriter keeps what can be sold. Its locks hold until the end of the transaction. They are taken in the order
// tiers, then batches (see [Store]).
type InventoryWriter interface {
	// LockTier locks the counter of a tier. It creates the counter at zero if there is none.
	LockTier(ctx context.Context, event EventRef, tier string) (Tier, error)
	// LockTiers locks the existing counters of the named tiers, or of all for nil, in lexicographic order.
	LockTiers(ctx context.Context, event EventRef, tiers []string) ([]Tier, error)
	// LockBatches locks batches.
	LockBatches(ctx context.Context, refs []BatchRef) ([]Batch, error)
	// LockOpenBatches locks the open batches of the named tiers, or of all for nil, by tier, then position.
	LockOpenBatches(ctx context.Context, event EventRef, tiers []string) ([]Batch, error)
	// LockStock locks, for each query, the oldest open batches on sale at its price that cover its quantity. If they do
	// not cover it, it locks all of them. No two queries are alike. It returns batches by company, event, tier,
	// position.
	LockStock(ctx context.Context, queries []StockQuery) ([]Batch, error)
	// UpdateTiers updates counters that were locked.
	UpdateTiers(ctx context.Context, tiers []Tier) error
	// CreateBatch keeps a new batch. Its position is one above the newest of the tier.
	CreateBatch(ctx context.Context, batch Batch) error
	// UpdateBatches updates price, status, quantity and sold of batches that were locked.
	UpdateBatches(ctx context.Context, batches []Batch) error
}
