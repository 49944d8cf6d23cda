package ticketing

import (
	"context"
	"time"
)

// restocking is the stock that the admissions of an order go back to, locked. Nothing of the event's status changes
// meanwhile: it is behind the gate.
type restocking struct {
	event   EventRecord
	tiers   map[string]*TierRecord
	shown   map[string]InventoryStatus // of a tier, before
	batches []BatchRecord
}

// lockRestock locks the stock that the admissions of an order were sold from; nil where the event takes none back.
func lockRestock(
	ctx context.Context, tx Tx, order OrderRecord, lines []AdmissionRecord,
) (*restocking, error) {
	event, err := findEvent(ctx, tx, EventRef{CompanyID: order.CompanyID, ID: order.EventID})
	if err != nil {
		return nil, err
	}
	if event.Status != EventDraft && event.Status != EventPublished {
		return nil, nil
	}
	names := make([]string, len(lines))
	refs := make([]BatchRef, len(lines))
	for i, line := range lines {
		names[i] = line.Tier
		refs[i] = line.batch()
	}
	names = distinct(names)
	tiers, err := tx.LockTiers(ctx, event.ref(), names)
	if err != nil {
		return nil, err
	}
	back := &restocking{event: event, tiers: map[string]*TierRecord{}, shown: map[string]InventoryStatus{}}
	for i := range tiers {
		back.tiers[tiers[i].Tier] = &tiers[i]
	}
	if back.batches, err = tx.LockBatches(ctx, distinct(refs)); err != nil {
		return nil, err
	}
	counts, err := tx.CountTiers(ctx, event.ref(), names)
	for _, count := range counts {
		back.shown[count.Tier] = count.tier().Status
	}
	return back, err
}

func (a AdmissionRecord) batch() BatchRef {
	return BatchRef{CompanyID: a.CompanyID, EventID: a.EventID, Tier: a.Tier, Position: a.Batch}
}

// cancelled reports whether what goes back to a batch stays cancelled. A batch that was sold out when its tier was
// cancelled has kept its own status, so the tier's counter decides, too: it is locked, and new admissions clear it.
func (r *restocking) cancelled(batch BatchRecord) bool {
	tier, found := r.tiers[batch.Tier]
	return batch.Status == InventoryCancelled || found && tier.Cancelled
}

// status is what admissions that go back to a batch become.
func (r *restocking) status(batch BatchRecord) InventoryStatus {
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

// keep puts admissions back. What would differ in status from the unsold of its batch becomes a batch of its own, with
// the same price: the tier has as many admissions as before.
func (r *restocking) keep(ctx context.Context, tx Tx, lines []AdmissionRecord, at time.Time) error {
	quantities := make(map[BatchRef]int64, len(r.batches))
	for _, line := range lines {
		quantities[line.batch()]++
	}
	var parted []BatchRecord
	var grown []TierRecord
	for i := range r.batches {
		batch := &r.batches[i]
		quantity := quantities[BatchRef{
			CompanyID: batch.CompanyID, EventID: batch.EventID, Tier: batch.Tier, Position: batch.Position,
		}]
		status, unsold := r.status(*batch), batch.Quantity-batch.Sold
		batch.Sold -= quantity
		if status == batch.Status || unsold == 0 {
			batch.Status = status
			continue
		}
		tier := r.tiers[batch.Tier]
		tier.Batches++
		batch.Quantity -= quantity
		part := *batch
		part.Position, part.Status, part.Quantity, part.Sold, part.CreatedAt = tier.Batches, status, quantity, 0, at
		parted, grown = append(parted, part), append(grown, *tier)
	}
	if err := tx.UpdateBatches(ctx, r.batches); err != nil {
		return err
	}
	for _, part := range parted {
		if err := tx.CreateBatch(ctx, part); err != nil {
			return err
		}
	}
	return tx.UpdateTiers(ctx, grown)
}
