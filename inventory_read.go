package ticketing

import (
	"context"

	"github.com/google/uuid"
)

// ListInventory tells what an event has on sale, by tier, lexicographically (section 4.5). It needs
// COMPANY:inventory:read. A tier appears once it has had an admission.
func (s *Service) ListInventory(ctx context.Context, caller Caller, eventID uuid.UUID) ([]InventoryTier, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return nil, err
	}
	var tiers []InventoryTier
	err := s.read(ctx, "inventory.list", caller, func(ctx context.Context, tx ReadTx) error {
		event, err := findEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: eventID})
		if err != nil {
			return err
		}
		counts, err := tx.CountTiers(ctx, event.ref(), nil)
		tiers = make([]InventoryTier, len(counts))
		for i, count := range counts {
			tiers[i] = count.tier()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return tiers, nil
}

// tier is what the contract shows of the counts.
func (t TierCount) tier() InventoryTier {
	shown := InventoryTier{
		Object: "inventory_tier", Tier: t.Tier, AvailableQuantity: t.Available, TotalAdmissions: t.Total,
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
	if t.Available+t.Paused > 0 {
		shown.UnitPrice = &t.LowestPrice
	}
	return shown
}
