package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// InventoryStatus is where a tier stands (section 3.2).
type InventoryStatus string

// The statuses of a tier. A batch is never SOLD_OUT: that it is, its counts tell.
const (
	InventoryAvailable InventoryStatus = "AVAILABLE"
	InventoryPaused    InventoryStatus = "PAUSED"
	InventorySoldOut   InventoryStatus = "SOLD_OUT"
	InventoryCancelled InventoryStatus = "CANCELLED"
)

// MaxTierAdmissions is how many admissions a tier may ever have (section 2.4).
const MaxTierAdmissions = 1_000_000

// InventoryTier is what is on sale under one ticket category of an event (section 2.4).
type InventoryTier struct {
	Object            string          `json:"object"` // "inventory_tier"
	Tier              string          `json:"tier"`
	Status            InventoryStatus `json:"status"`
	AvailableQuantity int64           `json:"availableQuantity"` // unsold admissions on sale now
	TotalAdmissions   int64           `json:"totalAdmissions"`   // every admission ever created
	UnitPrice         *money.Amount   `json:"unitPrice"`         // the lowest of the unsold, on sale or paused
}

// CreateInventoryParams are the members of section 4.5.
type CreateInventoryParams struct {
	Tier        string // an exact ticket category of the event
	Title       string // 1 to 200 characters
	Description string // at most 2000
	UnitPrice   money.Amount
	Currency    string          // NGN
	IsFree      bool            // agrees with the price
	Quantity    int             // 1 to 1,000
	Status      InventoryStatus // AVAILABLE or PAUSED
}

// UpdateInventoryParams change the members that are not nil. A price comes with its currency and IsFree.
type UpdateInventoryParams struct {
	UnitPrice *money.Amount
	Currency  *string
	IsFree    *bool
	Status    *InventoryStatus
}

// TierRecord is the counter of a tier: the lock for creates and the cap.
type TierRecord struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID
	Tier      string
	Batches   int   // how many there are; the newest has this position
	Total     int64 // every admission ever created
	Cancelled bool  // some were cancelled since the newest batch was added
}

// BatchRecord is a batch of admissions that are alike. Unsold admissions are counted, not enumerated: one gets an id
// and a row of its own when it is sold. A batch is open while it is not cancelled and Sold is below Quantity.
type BatchRecord struct {
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

// TierCount is a tier and what its open batches add up to.
type TierCount struct {
	TierRecord

	Available   int64        // unsold and on sale
	Paused      int64        // unsold and paused
	LowestPrice money.Amount // of what is unsold, on sale or paused; meaningless when there is none
}

// PriceBand is how much of a tier is on sale at one price.
type PriceBand struct {
	Tier      string
	UnitPrice money.Amount
	Available int64
}

// StockQuery asks for what is on sale at one price in one tier.
type StockQuery struct {
	CompanyID uuid.UUID
	EventID   uuid.UUID
	Tier      string
	UnitPrice money.Amount
	Quantity  int64
}

// StockTotal is what the records of one tier add up to, for the invariants.
type StockTotal struct {
	EventID    uuid.UUID
	Tier       string
	Total      int64 // of the tier's counter
	Quantity   int64 // over all batches
	Sold       int64 // over all batches
	Admissions int64 // rows of sold admissions
	Restocked  int64 // of them, those of orders whose refund has them count as unsold
}

// InventoryReader finds what can be sold.
type InventoryReader interface {
	// CountTiers answers with the named tiers of an event, or with all (nil), in lexicographic order by code point.
	// Its cost depends on the open batches alone, not on how many were ever sold.
	CountTiers(ctx context.Context, event EventRef, tiers []string) ([]TierCount, error)
	// PriceBands answers with what is on sale in the named tiers, by tier, then price.
	PriceBands(ctx context.Context, event EventRef, tiers []string) ([]PriceBand, error)
	// StockTotals answers by event, then tier.
	StockTotals(ctx context.Context, companyID uuid.UUID) ([]StockTotal, error)
}

// InventoryWriter keeps what can be sold.
type InventoryWriter interface {
	// LockTier locks the counter of a tier, making it at zero where there is none.
	LockTier(ctx context.Context, event EventRef, tier string) (TierRecord, error)
	// LockTiers locks the counters of the named tiers, or of all (nil), that there are, in lexicographic order.
	LockTiers(ctx context.Context, event EventRef, tiers []string) ([]TierRecord, error)
	// LockBatch locks one batch.
	LockBatch(ctx context.Context, ref BatchRef) (BatchRecord, error)
	// LockBatches locks batches.
	LockBatches(ctx context.Context, refs []BatchRef) ([]BatchRecord, error)
	// LockOpenBatches locks the open batches of the named tiers, or of all (nil), by tier, then position.
	LockOpenBatches(ctx context.Context, event EventRef, tiers []string) ([]BatchRecord, error)
	// LockStock locks, for each query, the oldest open batches on sale at its price that cover its quantity, or all
	// where they do not. No two queries are alike. It answers by company, event, tier, position.
	LockStock(ctx context.Context, queries []StockQuery) ([]BatchRecord, error)
	UpdateTiers(ctx context.Context, tiers []TierRecord) error
	CreateBatch(ctx context.Context, batch BatchRecord) error
	// UpdateBatches keeps price, status, quantity and sold of batches that were locked.
	UpdateBatches(ctx context.Context, batches []BatchRecord) error
}
