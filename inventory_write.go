package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// Limits of what is created (section 8).
const (
	maxInventoryDescription = 2000
	maxInventoryQuantity    = 1000
)

// CreateInventory adds a batch of admissions to a tier of an event; it never replaces earlier ones (section 4.5). It
// needs COMPANY:inventory:manage and an idempotency key. On a draft event, AVAILABLE inventory is PAUSED until the
// event is published.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST (a tier that the event has not, too), NOT_FOUND, CONFLICT for the
// key, on a cancelled or ended event, and past 1,000,000 admissions in the tier.
func (s *Service) CreateInventory(
	ctx context.Context, caller Caller, eventID uuid.UUID, key string, params CreateInventoryParams,
) (InventoryTier, error) {
	return do(ctx, s, &operation[inventoryCreate, InventoryTier]{
		name: "inventory.create", grant: GrantInventoryManage, apply: createInventory,
		replay: recallBody[inventoryCreate, InventoryTier],
	}, caller, key, inventoryCreate{EventID: eventID, Params: params}, normaliseInventory)
}

type inventoryCreate struct {
	EventID uuid.UUID
	Params  CreateInventoryParams
}

func normaliseInventory(v *violations, in inventoryCreate) inventoryCreate {
	p := &in.Params
	tierName(v, "tier", p.Tier)
	p.Title = requiredText(v, "title", p.Title, 1, maxTitle)
	p.Description = text(v, "description", p.Description, maxInventoryDescription, true)
	checkPrice(v, p.UnitPrice, p.Currency, p.IsFree)
	if p.Quantity < 1 || p.Quantity > maxInventoryQuantity {
		v.add("quantity", "must be from 1 to 1000")
	}
	checkAvailableOrPaused(v, p.Status)
	return in
}

// tierName checks a tier where it is looked up: it is compared exactly, neither trimmed nor folded.
func tierName(v *violations, path, s string) {
	before := len(*v)
	checkText(v, path, s, maxTierName, false)
	if len(*v) == before && s == "" {
		v.add(path, "must not be empty")
	}
}

func checkPrice(v *violations, price money.Amount, currency string, free bool) {
	if price < 0 || price > money.MaxInput {
		v.add("unitPrice", "must be from 0 to 999999999999.99")
	}
	checkCurrency(v, "currency", currency)
	if free != (price == 0) {
		v.add("isFree", "must be true for a price of 0 and false for any other")
	}
}

func checkCurrency(v *violations, path, currency string) {
	if currency != money.Currency {
		v.add(path, "must be NGN")
	}
}

func checkAvailableOrPaused(v *violations, status InventoryStatus) {
	if status != InventoryAvailable && status != InventoryPaused {
		v.add("status", "must be AVAILABLE or PAUSED")
	}
}

func createInventory(
	ctx context.Context, tx Tx, at time.Time, calls []*call[inventoryCreate, InventoryTier],
) error {
	for _, c := range calls {
		p := c.params.Params
		event, err := findEvent(ctx, tx, EventRef{CompanyID: c.caller.companyID, ID: c.params.EventID})
		if err == nil {
			err = event.mutable()
		}
		if err == nil && !slices.Contains(event.ticketCategories(), p.Tier) {
			err = Invalid(Violation{Message: "tier: must be a ticket category of the event"})
		}
		if err == nil {
			err = addStock(ctx, tx, event, p, at)
		}
		if c.err = refusal(err); c.err != nil {
			continue
		}
		if err != nil {
			return err
		}
		count, err := only(tx.CountTiers(ctx, event.ref(), []string{p.Tier}))
		if err != nil {
			return err
		}
		if err := c.keepBody(event.ID, count.tier()); err != nil {
			return err
		}
	}
	return nil
}

// addStock adds admissions behind the lock of the tier's counter. What is equal to the newest batch makes it grow: the
// order of sale and every reading stay the same, and a tier made in many equal steps stays one row.
func addStock(ctx context.Context, tx Tx, event EventRecord, p CreateInventoryParams, at time.Time) error {
	tier, err := tx.LockTier(ctx, event.ref(), p.Tier)
	if err != nil {
		return err
	}
	quantity := int64(p.Quantity)
	if tier.Total+quantity > MaxTierAdmissions {
		return conflict("The tier would have more than 1,000,000 admissions.")
	}
	batch := BatchRecord{
		CompanyID: tier.CompanyID, EventID: tier.EventID, Tier: tier.Tier, Position: tier.Batches + 1, Title: p.Title,
		Description: p.Description, UnitPrice: p.UnitPrice, Status: p.Status, Quantity: quantity, CreatedAt: at,
	}
	if event.Status == EventDraft {
		batch.Status = InventoryPaused
	}
	var newest BatchRecord
	if tier.Batches > 0 {
		if newest, err = tx.LockBatch(ctx, tier.newest()); err != nil {
			return err
		}
	}
	if newest.alike(batch) {
		newest.Quantity += quantity
		err = tx.UpdateBatches(ctx, []BatchRecord{newest})
	} else {
		tier.Batches++
		err = tx.CreateBatch(ctx, batch)
	}
	if err != nil {
		return err
	}
	tier.Total += quantity
	tier.Cancelled = false
	return tx.UpdateTiers(ctx, []TierRecord{tier})
}

func (t TierRecord) newest() BatchRef {
	return BatchRef{CompanyID: t.CompanyID, EventID: t.EventID, Tier: t.Tier, Position: t.Batches}
}

func (b BatchRecord) alike(other BatchRecord) bool {
	return b.Title == other.Title && b.Description == other.Description && b.UnitPrice == other.UnitPrice &&
		b.Status == other.Status
}

// UpdateInventory changes price or status of a tier's unsold, non-cancelled admissions (section 4.5). It needs
// COMPANY:inventory:manage.
//
// Errors: INVALID_REQUEST, NOT_FOUND (a tier that the event has not, too), CONFLICT on a cancelled or ended event and
// on a tier without an admission that could change.
func (s *Service) UpdateInventory(
	ctx context.Context, caller Caller, eventID uuid.UUID, tier string, params UpdateInventoryParams,
) (InventoryTier, error) {
	if err := caller.Require(GrantInventoryManage); err != nil {
		return InventoryTier{}, err
	}
	var v violations
	tierName(&v, "tier", tier)
	params.check(&v)
	if err := v.err(); err != nil {
		return InventoryTier{}, err
	}
	return s.changeTier(ctx, "inventory.update", caller, eventID, tier, func(
		ctx context.Context, tx Tx, ref EventRef,
	) error {
		batches, err := lockUnsold(ctx, tx, ref, tier)
		if err != nil {
			return err
		}
		for i := range batches {
			set(&batches[i].UnitPrice, params.UnitPrice)
			set(&batches[i].Status, params.Status)
		}
		return tx.UpdateBatches(ctx, batches)
	})
}

func (p UpdateInventoryParams) check(v *violations) {
	if p == (UpdateInventoryParams{}) {
		v.add("body", "must change at least one member")
	}
	switch priced := p.UnitPrice != nil && p.Currency != nil && p.IsFree != nil; {
	case priced:
		checkPrice(v, *p.UnitPrice, *p.Currency, *p.IsFree)
	case p.UnitPrice != nil || p.Currency != nil || p.IsFree != nil:
		v.add("unitPrice", "a change of price needs unitPrice, currency and isFree together")
	}
	if p.Status != nil {
		checkAvailableOrPaused(v, *p.Status)
	}
}

// CancelInventory cancels all unsold admissions of a tier; sold ones and their orders stay (section 4.5). It needs
// COMPANY:inventory:manage.
//
// Errors: NOT_FOUND (a tier that the event has not, too), CONFLICT on a cancelled or ended event and on a tier without
// an admission that could change.
func (s *Service) CancelInventory(
	ctx context.Context, caller Caller, eventID uuid.UUID, tier string,
) (InventoryTier, error) {
	if err := caller.Require(GrantInventoryManage); err != nil {
		return InventoryTier{}, err
	}
	var v violations
	tierName(&v, "tier", tier)
	if err := v.err(); err != nil {
		return InventoryTier{}, err
	}
	return s.changeTier(ctx, "inventory.cancel", caller, eventID, tier, func(
		ctx context.Context, tx Tx, ref EventRef,
	) error {
		cancelled, err := cancelStock(ctx, tx, ref, []string{tier})
		if err == nil && cancelled == 0 {
			err = errNothingUnsold
		}
		return err
	})
}

// changeTier runs a change of a tier that the event has, on an event that is not terminal.
func (s *Service) changeTier(
	ctx context.Context, operation string, caller Caller, eventID uuid.UUID, tier string,
	apply func(context.Context, Tx, EventRef) error,
) (InventoryTier, error) {
	var changed InventoryTier
	err := s.write(ctx, operation, caller, GrantInventoryManage, false, func(
		ctx context.Context, tx Tx, _ time.Time,
	) error {
		event, err := findEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: eventID})
		if err != nil {
			return err
		}
		if err := event.mutable(); err != nil {
			return err
		}
		if !slices.Contains(event.ticketCategories(), tier) {
			return notFound("The tier")
		}
		if err := apply(ctx, tx, event.ref()); err != nil {
			return err
		}
		count, err := only(tx.CountTiers(ctx, event.ref(), []string{tier}))
		changed = count.tier()
		return err
	})
	if err != nil {
		return InventoryTier{}, err
	}
	return changed, nil
}

var errNothingUnsold = conflict("The tier has no unsold admission that could change.")

// lockUnsold locks what of a tier may still change: its counter first, so that no batch is added meanwhile.
func lockUnsold(ctx context.Context, tx Tx, event EventRef, tier string) ([]BatchRecord, error) {
	if _, err := tx.LockTiers(ctx, event, []string{tier}); err != nil {
		return nil, err
	}
	batches, err := tx.LockOpenBatches(ctx, event, []string{tier})
	if err == nil && len(batches) == 0 {
		err = errNothingUnsold
	}
	return batches, err
}

// cancelStock cancels what is unsold in the named tiers, or in all (nil), and tells how many batches it met.
func cancelStock(ctx context.Context, tx Tx, event EventRef, names []string) (int, error) {
	tiers, err := tx.LockTiers(ctx, event, names)
	if err != nil {
		return 0, err
	}
	batches, err := tx.LockOpenBatches(ctx, event, names)
	if err != nil || len(batches) == 0 {
		return 0, err
	}
	met := make(map[string]bool)
	for i := range batches {
		batches[i].Status = InventoryCancelled
		met[batches[i].Tier] = true
	}
	if err := tx.UpdateBatches(ctx, batches); err != nil {
		return 0, err
	}
	tiers = filter(tiers, func(_ int, t TierRecord) bool { return met[t.Tier] })
	for i := range tiers {
		tiers[i].Cancelled = true
	}
	return len(batches), tx.UpdateTiers(ctx, tiers)
}

// releaseOrPause follows a change between draft and published: unsold inventory of a draft is paused, and publishing
// releases all that is paused (section 3.1).
func releaseOrPause(ctx context.Context, tx Tx, event EventRecord) error {
	from, to := InventoryPaused, InventoryAvailable
	if event.Status == EventDraft {
		from, to = to, from
	}
	if _, err := tx.LockTiers(ctx, event.ref(), nil); err != nil {
		return err
	}
	batches, err := tx.LockOpenBatches(ctx, event.ref(), nil)
	if err != nil {
		return err
	}
	batches = filter(batches, func(_ int, b BatchRecord) bool { return b.Status == from })
	if len(batches) == 0 {
		return nil
	}
	for i := range batches {
		batches[i].Status = to
	}
	return tx.UpdateBatches(ctx, batches)
}
