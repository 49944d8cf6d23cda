package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// InventoryStatus is the status of a tier (section 3.2).
type InventoryStatus = driver.InventoryStatus

// The statuses of a tier. A batch is never SOLD_OUT: its counts show that.
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
//
// All its numbers are counts of batches. They cost the same for a tier with a million sold admissions as for one with
// ten.
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

// ListInventory returns what an event has on sale, by tier in lexicographic order (section 4.5). It needs
// COMPANY:inventory:read. A tier appears once it has had an admission. An event of another company is NOT_FOUND.
//
// The result reserves nothing: what it shows may be sold a moment later.
func (s *Service) ListInventory(ctx context.Context, caller Caller, eventID uuid.UUID) ([]InventoryTier, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return nil, err
	}
	var tiers []InventoryTier
	err := s.read(ctx, "inventory.list", caller, GrantInventoryRead, func(ctx context.Context, tx driver.ReadTx) error {
		event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: eventID})
		if err != nil {
			return err
		}
		// No names means all tiers that have had an admission.
		counts, err := tx.CountTiers(ctx, event.Ref(), nil)
		tiers = make([]InventoryTier, len(counts))
		for i, count := range counts {
			tiers[i] = showTier(count)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return tiers, nil
}

// showTier returns the counts as the contract shows them (section 2.4). AVAILABLE comes before PAUSED. Without an
// unsold admission the tier is CANCELLED if some were cancelled since its newest batch was added, and else SOLD_OUT.
func showTier(t driver.TierCount) InventoryTier {
	shown := InventoryTier{
		Object: "inventory_tier", Tier: t.Name, AvailableQuantity: t.Available, TotalAdmissions: t.Total,
	}
	switch {
	case t.Available > 0:
		shown.Status = InventoryAvailable
	case t.Paused > 0:
		shown.Status = InventoryPaused
	case t.Cancelled:
		shown.Status = InventoryCancelled
	default:
		shown.Status = InventorySoldOut
	}
	// Cancelled admissions have no price to show.
	if t.Available+t.Paused > 0 {
		shown.UnitPrice = &t.LowestPrice
	}
	return shown
}
