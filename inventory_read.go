package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// ListInventory returns what an event has on sale, by tier in lexicographic order (section 4.5). It needs
// COMPANY:inventory:read. A tier appears once it has had an admission. An event of another company is NOT_FOUND.
//
// The result is no reservation: what it shows may be sold a moment later.
func (s *Service) ListInventory(ctx context.Context, caller Caller, eventID uuid.UUID) ([]InventoryTier, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return nil, err
	}
	var tiers []InventoryTier
	err := s.read(ctx, "inventory.list", caller, func(ctx context.Context, tx driver.ReadTx) error {
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
