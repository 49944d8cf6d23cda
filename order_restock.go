package ticketing

import (
	"context"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// restocking is the stock that the admissions of an order go back to, with its rows locked. The event's status cannot
// change meanwhile: the company's gate is held, and only an exclusive holder changes it.
//
// Unsold admissions are counted in batches, so putting one back is a change of counts. Its id is not used again: a
// later sale gives it a new one, and the refunded admission stays voided.
type restocking struct {
	event   driver.Event
	tiers   map[string]*driver.Tier
	shown   map[string]InventoryStatus // of each tier, before the change
	batches []driver.Batch
}

// lockRestock locks the tiers and batches that the admissions of an order were sold from. It returns nil if the event
// takes no stock back, because it is cancelled or has ended. Tiers come before batches, as in the lock order of
// [driver.Store].
func lockRestock(
	ctx context.Context, tx driver.Tx, order driver.Order, lines []driver.Admission,
) (*restocking, error) {
	event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: order.CompanyID, ID: order.EventID})
	if err != nil {
		return nil, err
	}
	// A cancelled or ended event sells nothing any more (section 3.1).
	if event.Status != EventDraft && event.Status != EventPublished {
		return nil, nil
	}
	names := make([]string, len(lines))
	refs := make([]driver.BatchRef, len(lines))
	for i, line := range lines {
		names[i] = line.Tier
		refs[i] = line.BatchRef()
	}
	names = distinct(names)
	// The counter of a tier guards all its batches: a sale of the tier locks it first.
	tiers, err := tx.LockTiers(ctx, event.Ref(), names)
	if err != nil {
		return nil, err
	}
	back := &restocking{event: event, tiers: map[string]*driver.Tier{}, shown: map[string]InventoryStatus{}}
	for i := range tiers {
		back.tiers[tiers[i].Name] = &tiers[i]
	}
	if back.batches, err = tx.LockBatches(ctx, distinct(refs)); err != nil {
		return nil, err
	}
	// The status that the tier shows now decides for batches without unsold admissions, see status.
	counts, err := tx.CountTiers(ctx, event.Ref(), names)
	for _, count := range counts {
		back.shown[count.Name] = showTier(count).Status
	}
	return back, err
}

// cancelled reports whether what goes back to a batch stays cancelled. A batch that was sold out when its tier was
// cancelled kept its own status, so the counter of the tier decides, too. The counter is locked, and creating new
// admissions in the tier clears the mark.
func (r *restocking) cancelled(batch driver.Batch) bool {
	tier, found := r.tiers[batch.Tier]
	return batch.Status == InventoryCancelled || found && tier.Cancelled
}

// status returns the status of the admissions that go back to a batch (section 3.2). Stock of a draft is always paused;
// publishing the event releases it. On a published event they join the unsold admissions of the batch. If there are
// none, they take the status that the tier shows, and a tier that was sold out is on sale again.
func (r *restocking) status(batch driver.Batch) InventoryStatus {
	switch {
	case r.cancelled(batch):
		return InventoryCancelled
	case r.event.Status == EventDraft:
		return InventoryPaused
	case batch.Sold < batch.Quantity:
		return batch.Status
	case r.shown[batch.Tier] == InventorySoldOut:
		return InventoryAvailable
	default:
		return r.shown[batch.Tier]
	}
}

// keep writes the stock with the admissions put back. Admissions whose status differs from that of the unsold rest of
// their batch become a batch of their own with the same price, since a batch has one status. The total number of
// admissions of the tier does not change, so its limit of 1,000,000 holds.
func (r *restocking) keep(ctx context.Context, tx driver.Tx, lines []driver.Admission, at time.Time) error {
	// An order may have admissions of several batches, and several of one batch.
	quantities := make(map[driver.BatchRef]int64, len(r.batches))
	for _, line := range lines {
		// An admission names the batch that it was sold from, for good.
		quantities[line.BatchRef()]++
	}
	var parted []driver.Batch
	var grown []driver.Tier
	for i := range r.batches {
		batch := &r.batches[i]
		quantity := quantities[driver.BatchRef{
			CompanyID: batch.CompanyID, EventID: batch.EventID, Tier: batch.Tier, Position: batch.Position,
		}]
		status, unsold := r.status(*batch), batch.Quantity-batch.Sold
		batch.Sold -= quantity
		// Without unsold admissions the batch may take any status.
		if status == batch.Status || unsold == 0 {
			batch.Status = status
			continue
		}
		// The new batch gets the next position of its tier, which the lock on the tier's counter makes unique.
		tier := r.tiers[batch.Tier]
		tier.Batches++
		batch.Quantity -= quantity
		part := *batch
		part.Position, part.Status, part.Quantity, part.Sold, part.CreatedAt = tier.Batches, status, quantity, 0, at
		parted, grown = append(parted, part), append(grown, *tier)
	}
	// Sold goes down by what is put back. The verification of the books counts sold admissions without those.
	if err := tx.UpdateBatches(ctx, r.batches); err != nil {
		return err
	}
	for _, part := range parted {
		if err := tx.CreateBatch(ctx, part); err != nil {
			return err
		}
	}
	// Only tiers with a new batch are written: their number of batches gives the next position.
	return tx.UpdateTiers(ctx, grown)
}
