package ticketing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// TierStock is a tier as those who manage it see it: what was sold of it, what is paused, and its batches. Its
// quantities are of one moment.
type TierStock struct {
	InventoryTier

	PausedQuantity    int64            `json:"pausedQuantity"`    // unsold and not on sale now
	SoldQuantity      int64            `json:"soldQuantity"`      // those that were put on sale again do not count
	CancelledQuantity int64            `json:"cancelledQuantity"` // unsold when they were cancelled
	Batches           []InventoryBatch `json:"batches"`           // the oldest first
	MoreBatches       bool             `json:"moreBatches"`       // it has batches that are not listed
}

// InventoryBatch is a batch of admissions that are alike. The oldest is sold first.
type InventoryBatch struct {
	Number      int             `json:"number"` // 1, 2, 3 … in the tier
	Title       string          `json:"title"`
	Description *string         `json:"description"`
	UnitPrice   money.Amount    `json:"unitPrice"` // of its unsold admissions; sold ones keep theirs
	Status      InventoryStatus `json:"status"`    // AVAILABLE, PAUSED or CANCELLED; of its unsold admissions
	Quantity    int64           `json:"quantity"`
	Sold        int64           `json:"sold"`
	CreatedAt   Time            `json:"createdAt"`
}

// MaxListedBatches is the most batches of an event that [Service.ListStock] lists.
const MaxListedBatches = 1000

// ListStock returns the tiers of an event with their batches, by tier in lexicographic order, and at most
// [MaxListedBatches] batches. It needs COMPANY:inventory:read. An event of another company is NOT_FOUND.
//
// It is for the people of a company. A shop needs only [Service.ListInventory], whose cost does not grow with sold-out
// batches.
func (s *Service) ListStock(ctx context.Context, caller Caller, eventID uuid.UUID) ([]TierStock, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return nil, err
	}
	var tiers []TierStock
	err := s.read(ctx, "inventory.stock", caller, GrantInventoryRead, func(ctx context.Context, tx driver.ReadTx) error {
		event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: eventID})
		if err != nil {
			return err
		}
		counts, err := tx.CountTiers(ctx, event.Ref(), nil)
		if err != nil {
			return err
		}
		batches, err := tx.ListBatches(ctx, event.Ref(), MaxListedBatches+1)
		if err != nil {
			return err
		}
		tiers, err = showTiers(ctx, tx, event.Ref(), counts, batches)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tiers, nil
}

// EventStock is what an event has sold and has left, over all its tiers.
type EventStock struct {
	Total     int64 `json:"total"`     // ever added, with those that were cancelled
	Sold      int64 `json:"sold"`      // those that were put on sale again do not count
	Available int64 `json:"available"` // unsold and on sale
	Paused    int64 `json:"paused"`    // unsold and not on sale now
}

// MaxCountedEvents is the most events that [Service.CountStock] takes.
const MaxCountedEvents = 1000

// CountStock returns what events have sold and have left, in the order of the events. It needs COMPANY:inventory:read.
// An event without tickets has the zero EventStock, and so has one of another company. More than [MaxCountedEvents]
// events are INVALID_REQUEST.
func (s *Service) CountStock(ctx context.Context, caller Caller, events []uuid.UUID) ([]EventStock, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return nil, err
	}
	if len(events) > MaxCountedEvents {
		return nil, Invalid(Violation{Message: fmt.Sprintf("events: must be at most %d", MaxCountedEvents)})
	}
	var stock []EventStock
	err := s.read(ctx, "inventory.count", caller, GrantInventoryRead, func(ctx context.Context, tx driver.ReadTx) error {
		counts, err := tx.CountEvents(ctx, eventRefs(caller.companyID, events))
		stock = make([]EventStock, len(counts))
		for i, count := range counts {
			stock[i] = EventStock{
				Total: count.Total, Sold: count.Sold, Available: count.Available, Paused: count.Paused,
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return stock, nil
}

// showTiers returns tiers with their batches. The counters and the batches are read one after the other, so sales may
// come between. The quantities are therefore the sums of a tier's batches, which one statement read: that of the list,
// or another for tiers that are not listed to their end.
func showTiers(
	ctx context.Context, tx driver.InventoryReader, event driver.EventRef, counts []driver.TierCount,
	batches []driver.Batch,
) ([]TierStock, error) {
	var unlisted []string
	if len(batches) > MaxListedBatches {
		first := batches[MaxListedBatches].Tier
		for _, count := range counts {
			if count.Name >= first {
				unlisted = append(unlisted, count.Name)
			}
		}
		batches = batches[:MaxListedBatches]
	}
	listed := make(map[string][]driver.Batch, len(counts))
	for _, batch := range batches {
		listed[batch.Tier] = append(listed[batch.Tier], batch)
	}
	sums := make(map[string]driver.BatchSum, len(counts))
	for tier, batches := range listed {
		sums[tier] = sumBatches(batches)
	}
	if len(unlisted) > 0 {
		found, err := tx.SumBatches(ctx, event, unlisted)
		if err != nil {
			return nil, err
		}
		for _, sum := range found {
			sums[sum.Tier] = sum
		}
	}
	tiers := make([]TierStock, len(counts))
	for i, count := range counts {
		tiers[i] = showStock(count, sums[count.Name], listed[count.Name])
		tiers[i].MoreBatches = slices.Contains(unlisted, count.Name)
	}
	return tiers, nil
}

func sumBatches(batches []driver.Batch) driver.BatchSum {
	var sum driver.BatchSum
	for _, batch := range batches {
		unsold := batch.Quantity - batch.Sold
		sum.Total += batch.Quantity
		sum.Sold += batch.Sold
		switch batch.Status {
		case InventoryAvailable, InventoryPaused:
			if unsold > 0 && (sum.Available+sum.Paused == 0 || batch.UnitPrice < sum.LowestPrice) {
				sum.LowestPrice = batch.UnitPrice
			}
			if batch.Status == InventoryPaused {
				sum.Paused += unsold
			} else {
				sum.Available += unsold
			}
		case InventoryCancelled:
			sum.Cancelled += unsold
		case InventorySoldOut: // never of a batch
		}
	}
	return sum
}

func showStock(count driver.TierCount, sum driver.BatchSum, batches []driver.Batch) TierStock {
	count.Total, count.Available, count.Paused = sum.Total, sum.Available, sum.Paused
	count.LowestPrice = sum.LowestPrice
	shown := make([]InventoryBatch, len(batches))
	for i, batch := range batches {
		shown[i] = InventoryBatch{
			Number: batch.Position, Title: batch.Title, Description: optional(batch.Description),
			UnitPrice: batch.UnitPrice, Status: batch.Status, Quantity: batch.Quantity, Sold: batch.Sold,
			CreatedAt: Time{Time: batch.CreatedAt},
		}
	}
	return TierStock{
		InventoryTier: showTier(count), PausedQuantity: sum.Paused, SoldQuantity: sum.Sold,
		CancelledQuantity: sum.Cancelled, Batches: shown,
	}
}
