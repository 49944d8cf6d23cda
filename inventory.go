package ticketing

import (
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// InventoryStatus is the status of a tier (section 3.2).
type InventoryStatus = driver.InventoryStatus

// The statuses of a tier. A batch is never SOLD_OUT, since its counts show that it is.
const (
	InventoryAvailable = driver.InventoryAvailable
	InventoryPaused    = driver.InventoryPaused
	InventorySoldOut   = driver.InventorySoldOut
	InventoryCancelled = driver.InventoryCancelled
)

// MaxTierAdmissions is the most admissions that a tier may ever have (section 2.4).
const MaxTierAdmissions = driver.MaxTierAdmissions

// InventoryTier is what is on sale under one ticket category of an event (section 2.4). UnitPrice is nil if no unsold
// admission is on sale or paused.
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
	IsFree      bool            // must agree with the price
	Quantity    int             // 1 to 1,000
	Status      InventoryStatus // AVAILABLE or PAUSED
}

// UpdateInventoryParams change the members that are not nil. A change of price needs UnitPrice, Currency and IsFree
// together (section 4.5).
type UpdateInventoryParams struct {
	UnitPrice *money.Amount
	Currency  *string
	IsFree    *bool
	Status    *InventoryStatus
}
