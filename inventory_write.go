package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// Limits of an inventory create: characters and admissions (section 8).
const (
	maxInventoryDescription = 2000
	maxInventoryQuantity    = 1000
)

// CreateInventory adds a batch of admissions to a tier of an event. It never replaces earlier batches (section 4.5). It
// needs COMPANY:inventory:manage and an idempotency key. On a draft event, AVAILABLE inventory is PAUSED until the
// event is published. A replay returns the tier as it was after the create.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST (also for a tier that the event does not have), NOT_FOUND, CONFLICT
// for the key, on a cancelled or ended event, and past 1,000,000 admissions in the tier.
//
// Unsold admissions are alike, so a batch of a thousand is one row with two counts. An admission gets a row and an id
// when it is sold.
func (s *Service) CreateInventory(
	ctx context.Context, caller Caller, eventID uuid.UUID, key string, params CreateInventoryParams,
) (InventoryTier, error) {
	return runKeyed(ctx, s, &operation[inventoryCreate, InventoryTier]{
		name: "inventory.create", grant: GrantInventoryManage, apply: createInventory,
		replay: replayBody[inventoryCreate, InventoryTier],
	}, caller, key, inventoryCreate{EventID: eventID, Params: params}, normaliseInventory)
}

// inventoryCreate is the input of a create. The id of the event is part of the idempotency digest, so a key that is
// used for another event is CONFLICT. See inputDigest before renaming a field.
//
// The params are part of it as they were normalised.
type inventoryCreate struct {
	EventID uuid.UUID
	Params  CreateInventoryParams
}

// normaliseInventory checks the params and normalises the texts. The tier is compared exactly and stays as it is.
func normaliseInventory(v *violations, in inventoryCreate) inventoryCreate {
	p := &in.Params
	tierName(v, "tier", p.Tier)
	p.Title = requiredText(v, "title", p.Title, 1, maxTitle)
	p.Description = trimmedText(v, "description", p.Description, maxInventoryDescription, true)
	checkPrice(v, p.UnitPrice, p.Currency, p.IsFree)
	if p.Quantity < 1 || p.Quantity > maxInventoryQuantity {
		v.add("quantity", "must be from 1 to 1000")
	}
	checkAvailableOrPaused(v, p.Status)
	return in
}

// tierName checks the form of a tier that is looked up. A tier is compared exactly, neither trimmed nor folded.
func tierName(v *violations, path, s string) {
	before := len(*v)
	checkText(v, path, s, maxTierName, false)
	if len(*v) == before && s == "" {
		v.add(path, "must not be empty")
	}
}

// checkPrice checks a price in kobo and its members. isFree must agree with the price, so that a client cannot create
// free tickets by a mistake in one member (section 4.5).
func checkPrice(v *violations, price money.Amount, currency string, free bool) {
	if price < 0 || price > money.MaxInput {
		v.add("unitPrice", "must be from 0 to 999999999999.99")
	}
	checkCurrency(v, "currency", currency)
	if free != (price == 0) {
		v.add("isFree", "must be true for a price of 0 and false for any other")
	}
}

// checkCurrency accepts NGN only (section 1, item 5).
func checkCurrency(v *violations, path, currency string) {
	if currency != money.Currency {
		v.add(path, "must be NGN")
	}
}

// checkAvailableOrPaused checks a status that a client may set; a tier becomes SOLD_OUT and CANCELLED by other means.
func checkAvailableOrPaused(v *violations, status InventoryStatus) {
	if status != InventoryAvailable && status != InventoryPaused {
		v.add("status", "must be AVAILABLE or PAUSED")
	}
}

// createInventory decides creates in the order they arrived. Their company's gate is shared, which keeps the status of
// the event as it was read. The result is stored with the key, since a tier changes later.
func createInventory(
	ctx context.Context, tx driver.Tx, at time.Time, calls []*call[inventoryCreate, InventoryTier],
) error {
	for _, c := range calls {
		p := c.params.Params
		event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: c.caller.companyID, ID: c.params.EventID})
		if err == nil {
			err = checkMutable(event)
		}
		// A tier that the event does not have is a wrong member of the body, so it is INVALID_REQUEST and not
		// NOT_FOUND.
		if err == nil && !slices.Contains(ticketCategoriesOf(event), p.Tier) {
			err = Invalid(Violation{Message: "tier: must be a ticket category of the event"})
		}
		if err == nil {
			err = addStock(ctx, tx, event, p, at)
		}
		// A refusal is the outcome of this call only.
		if c.err = refusal(err); c.err != nil {
			continue
		}
		if err != nil {
			return err
		}
		// The counts include the batch that was just added: a transaction sees its own writes.
		count, err := firstRecord(tx.CountTiers(ctx, event.Ref(), []string{p.Tier}))
		if err != nil {
			return err
		}
		if err := c.keepBody(event.ID, showTier(count)); err != nil {
			return err
		}
	}
	return nil
}

// addStock adds admissions under the lock of the tier's counter. If they are equal to the newest batch, that batch
// grows: the order of sale and every result stay the same, and a tier made in many equal steps stays one row.
//
// A new batch of a draft event is paused until the event is published (section 3.2). The counter keeps the tier within
// MaxTierAdmissions.
func addStock(ctx context.Context, tx driver.Tx, event driver.Event, p CreateInventoryParams, at time.Time) error {
	tier, err := tx.LockTier(ctx, event.Ref(), p.Tier)
	if err != nil {
		return err
	}
	quantity := int64(p.Quantity)
	// The counter is locked, so two creates at a time cannot pass the limit together.
	if tier.Total+quantity > MaxTierAdmissions {
		return conflict("The tier would have more than 1,000,000 admissions.")
	}
	batch := driver.Batch{
		CompanyID: tier.CompanyID, EventID: tier.EventID, Tier: tier.Name, Position: tier.Batches + 1, Title: p.Title,
		Description: p.Description, UnitPrice: p.UnitPrice, Status: p.Status, Quantity: quantity, CreatedAt: at,
	}
	if event.Status == EventDraft {
		batch.Status = InventoryPaused
	}
	// The newest batch is locked before it is compared, because a sale may change it.
	var newest driver.Batch
	if tier.Batches > 0 {
		if newest, err = firstRecord(tx.LockBatches(ctx, []driver.BatchRef{newestBatch(tier)})); err != nil {
			return err
		}
	}
	if alikeBatches(newest, batch) {
		newest.Quantity += quantity
		err = tx.UpdateBatches(ctx, []driver.Batch{newest})
	} else {
		tier.Batches++
		err = tx.CreateBatch(ctx, batch)
	}
	if err != nil {
		return err
	}
	// Cancelled and sold admissions count, too: the total never goes down.
	tier.Total += quantity
	// A new batch ends the status CANCELLED of its tier.
	tier.Cancelled = false
	return tx.UpdateTiers(ctx, []driver.Tier{tier})
}

// newestBatch returns the reference of the tier's newest batch.
func newestBatch(t driver.Tier) driver.BatchRef {
	return driver.BatchRef{CompanyID: t.CompanyID, EventID: t.EventID, Tier: t.Name, Position: t.Batches}
}

// alikeBatches reports whether the admissions of two batches of a tier are alike. The price is the current one. A batch
// whose price was changed may become alike to a new one.
func alikeBatches(b, other driver.Batch) bool {
	return b.Title == other.Title && b.Description == other.Description && b.UnitPrice == other.UnitPrice &&
		b.Status == other.Status
}

// UpdateInventory changes the price or the status of a tier's unsold, non-cancelled admissions (section 4.5). It needs
// COMPANY:inventory:manage. Sold admissions keep the price they were sold at.
//
// Errors: INVALID_REQUEST, NOT_FOUND (also for a tier that the event does not have), CONFLICT on a cancelled or ended
// event and on a tier without an admission that could change.
//
// Sales that follow use the new price: a checkout that expects the old one is INVENTORY_UNAVAILABLE.
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
		ctx context.Context, tx driver.Tx, ref driver.EventRef,
	) error {
		// A batch has a row for all its unsold admissions, so a new price or status is one write for each batch.
		batches, err := lockUnsold(ctx, tx, ref, tier)
		if err != nil {
			return err
		}
		for i := range batches {
			setMember(&batches[i].UnitPrice, params.UnitPrice)
			setMember(&batches[i].Status, params.Status)
		}
		return tx.UpdateBatches(ctx, batches)
	})
}

// check checks that there is a change, and that the members of a price change come together (section 4.5). It reads no
// record, so a malformed change costs no transaction.
func (p UpdateInventoryParams) check(v *violations) {
	if p == (UpdateInventoryParams{}) {
		v.add("body", "must change at least one member")
	}
	// The three members of a price come together or not at all.
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

// CancelInventory cancels all unsold admissions of a tier. Sold ones and their orders stay (section 4.5). It needs
// COMPANY:inventory:manage.
//
// Errors: NOT_FOUND (also for a tier that the event does not have), CONFLICT on a cancelled or ended event and on a
// tier without an admission that could change.
//
// Cancelled admissions cannot be put on sale again. A new batch can be added to the tier.
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
		ctx context.Context, tx driver.Tx, ref driver.EventRef,
	) error {
		// The event stays as it is: the other tiers go on selling.
		cancelled, err := cancelStock(ctx, tx, ref, []string{tier})
		if err == nil && cancelled == 0 {
			err = errNothingUnsold
		}
		return err
	})
}

// changeTier applies a change to a tier of an event that is not terminal, and returns the tier after it. The gate is
// shared: sales go on, and the locks of the tier and its batches order the two.
func (s *Service) changeTier(
	ctx context.Context, operation string, caller Caller, eventID uuid.UUID, tier string,
	apply func(context.Context, driver.Tx, driver.EventRef) error,
) (InventoryTier, error) {
	var changed InventoryTier
	err := s.write(ctx, operation, caller, GrantInventoryManage, false, func(
		ctx context.Context, tx driver.Tx, _ time.Time,
	) error {
		// The status is read under the gate, so the event cannot end or be cancelled meanwhile.
		event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: eventID})
		if err != nil {
			return err
		}
		if err := checkMutable(event); err != nil {
			return err
		}
		// The tier is part of the path here, so an unknown one is NOT_FOUND.
		if !slices.Contains(ticketCategoriesOf(event), tier) {
			return notFound("The tier")
		}
		if err := apply(ctx, tx, event.Ref()); err != nil {
			return err
		}
		// The counts are read after the change, in the same transaction.
		count, err := firstRecord(tx.CountTiers(ctx, event.Ref(), []string{tier}))
		changed = showTier(count)
		return err
	})
	if err != nil {
		return InventoryTier{}, err
	}
	return changed, nil
}

// errNothingUnsold is CONFLICT and not NOT_FOUND: the tier is a category of the event (section 4.5).
var errNothingUnsold = conflict("The tier has no unsold admission that could change.")

// lockUnsold locks what may still change in a tier. It locks the tier's counter first, so that no batch is added
// meanwhile. A sale of the tier locks the same counter before it reads batches. So it either sold before, or it sees
// the change.
func lockUnsold(ctx context.Context, tx driver.Tx, event driver.EventRef, tier string) ([]driver.Batch, error) {
	if _, err := tx.LockTiers(ctx, event, []string{tier}); err != nil {
		return nil, err
	}
	batches, err := tx.LockOpenBatches(ctx, event, []string{tier})
	if err == nil && len(batches) == 0 {
		err = errNothingUnsold
	}
	return batches, err
}

// cancelStock cancels what is unsold in the named tiers, or in all for nil, and returns how many batches that were.
// Sold admissions of a batch keep their rows and stay valid.
//
// It locks counters before batches, as every writer does. The number of admissions in a batch does not change, so the
// total of the tier stays.
func cancelStock(ctx context.Context, tx driver.Tx, event driver.EventRef, names []string) (int, error) {
	tiers, err := tx.LockTiers(ctx, event, names)
	if err != nil {
		return 0, err
	}
	batches, err := tx.LockOpenBatches(ctx, event, names)
	if err != nil || len(batches) == 0 {
		return 0, err
	}
	// met are the tiers that had something to cancel.
	met := make(map[string]bool)
	for i := range batches {
		batches[i].Status = InventoryCancelled
		met[batches[i].Tier] = true
	}
	if err := tx.UpdateBatches(ctx, batches); err != nil {
		return 0, err
	}
	// A tier without an open batch keeps its status.
	tiers = filter(tiers, func(_ int, t driver.Tier) bool { return met[t.Name] })
	for i := range tiers {
		tiers[i].Cancelled = true
	}
	return len(batches), tx.UpdateTiers(ctx, tiers)
}

// releaseOrPause adapts the inventory after an event changed between draft and published (section 3.1). Publishing
// releases all paused, unsold inventory, and going back to a draft pauses what is on sale. It locks all tiers, so that
// no batch is added meanwhile.
func releaseOrPause(ctx context.Context, tx driver.Tx, event driver.Event) error {
	from, to := InventoryPaused, InventoryAvailable
	if event.Status == EventDraft {
		from, to = to, from
	}
	if _, err := tx.LockTiers(ctx, event.Ref(), nil); err != nil {
		return err
	}
	batches, err := tx.LockOpenBatches(ctx, event.Ref(), nil)
	if err != nil {
		return err
	}
	// Batches that already have the status are not written.
	batches = filter(batches, func(_ int, b driver.Batch) bool { return b.Status == from })
	if len(batches) == 0 {
		return nil
	}
	for i := range batches {
		batches[i].Status = to
	}
	return tx.UpdateBatches(ctx, batches)
}
