package ticketing_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestStockIsListedWithItsBatches checks what the people of a company see of a tier: what was sold, is paused and was
// cancelled, and each batch with its price.
func TestStockIsListedWithItsBatches(t *testing.T) {
	t.Parallel()
	is, h := is.New(t), ticketingtest.New(t, nil)
	event := h.Event(t)
	none, err := h.ListStock(t.Context(), h.Caller, event.ID)
	is.NoErr(err)
	is.Equal(len(none), 0)
	h.Inventory(t, event.ID, "VIP", 100_00, 2)
	h.Inventory(t, event.ID, "VIP", 150_00, 5)
	h.Inventory(t, event.ID, "REGULAR", 10_00, 4)
	h.Sell(t, event.ID, "VIP", 2)
	h.Sell(t, event.ID, "REGULAR", 1)
	paused := ticketing.InventoryPaused
	_, err = h.UpdateInventory(t.Context(), h.Caller, event.ID, "VIP", ticketing.UpdateInventoryParams{Status: &paused})
	is.NoErr(err)
	_, err = h.CancelInventory(t.Context(), h.Caller, event.ID, "REGULAR")
	is.NoErr(err)

	tiers, err := h.ListStock(t.Context(), h.Caller, event.ID)
	is.NoErr(err)
	is.Equal(len(tiers), 2)
	regular, vip := tiers[0], tiers[1]
	is.Equal(regular.Status, ticketing.InventoryCancelled)
	is.Equal([]int64{regular.SoldQuantity, regular.CancelledQuantity, regular.AvailableQuantity}, []int64{1, 3, 0})
	is.Equal(vip.Status, ticketing.InventoryPaused)
	is.Equal([]int64{vip.SoldQuantity, vip.PausedQuantity, vip.TotalAdmissions}, []int64{2, 5, 7})
	is.Equal(int64(*vip.UnitPrice), int64(150_00))
	is.Equal(len(vip.Batches), 2)
	is.Equal(vip.Batches[0].Sold, int64(2))
	is.Equal(int64(vip.Batches[1].UnitPrice), int64(150_00))
	// What shops see agrees.
	shown, err := h.ListInventory(t.Context(), h.Caller, event.ID)
	is.NoErr(err)
	is.Equal([]ticketing.InventoryTier{regular.InventoryTier, vip.InventoryTier}, shown)

	counted, err := h.CountStock(t.Context(), h.Caller, []uuid.UUID{uuid.New(), event.ID})
	is.NoErr(err)
	is.Equal(counted, []ticketing.EventStock{{}, {Total: 11, Sold: 3, Paused: 5}})

	_, err = h.CountStock(t.Context(), h.Caller, make([]uuid.UUID, ticketing.MaxCountedEvents+1))
	is.Equal(code(err), ticketing.CodeInvalidRequest)
	_, err = h.CountStock(t.Context(), h.With(ticketing.GrantEventRead), []uuid.UUID{event.ID})
	is.Equal(code(err), ticketing.CodePermissionDenied)
	_, err = h.ListStock(t.Context(), h.With(ticketing.GrantEventRead), event.ID)
	is.Equal(code(err), ticketing.CodePermissionDenied)
	_, err = h.ListStock(t.Context(), h.Caller, uuid.New())
	is.Equal(code(err), ticketing.CodeNotFound)
}

// TestStockOfManyBatchesIsCounted checks that the quantities of a tier count the batches that are not listed, too.
func TestStockOfManyBatchesIsCounted(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is, event := is.New(t), shop.Event(t)
		shop.Inventory(t, event.ID, "REGULAR", 10_00, 4)
		shop.Inventory(t, event.ID, "VIP", 150_00, 7)
		ref := driver.EventRef{CompanyID: shop.Company.ID, ID: event.ID}
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			return addBatches(ctx, tx, ref, "VIP", ticketing.MaxListedBatches)
		}))
		shop.Sell(t, event.ID, "REGULAR", 1)
		shop.Sell(t, event.ID, "VIP", 2)
		free, err := shop.ListStock(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		_, err = shop.CancelInventory(t.Context(), shop.Caller, event.ID, "VIP")
		is.NoErr(err)
		shop.Inventory(t, event.ID, "VIP", 900_00, 3) // its batch is not listed
		shop.Sell(t, event.ID, "VIP", 1)

		tiers, err := shop.ListStock(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal([]bool{tiers[0].MoreBatches, tiers[1].MoreBatches}, []bool{false, true})
		is.Equal(len(tiers[0].Batches)+len(tiers[1].Batches), ticketing.MaxListedBatches)
		is.Equal([]int64{tiers[0].SoldQuantity, tiers[0].AvailableQuantity}, []int64{1, 3})
		const more = int64(ticketing.MaxListedBatches)
		is.Equal([]int64{free[1].SoldQuantity, free[1].AvailableQuantity}, []int64{2, 5 + more})
		is.Equal(int64(*free[1].UnitPrice), int64(50_00))
		vip := tiers[1]
		is.Equal([]int64{vip.SoldQuantity, vip.CancelledQuantity}, []int64{3, 5 + more})
		is.Equal([]int64{vip.AvailableQuantity, vip.PausedQuantity, vip.TotalAdmissions}, []int64{2, 0, 10 + more})
		is.Equal(vip.Status, ticketing.InventoryAvailable)
		is.Equal(int64(*vip.UnitPrice), int64(900_00))
		shown, err := shop.ListInventory(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal([]ticketing.InventoryTier{tiers[0].InventoryTier, vip.InventoryTier}, shown)
	})
}

// addBatches adds batches of one ticket for 50 naira to a tier.
func addBatches(ctx context.Context, tx driver.Tx, event driver.EventRef, name string, batches int) error {
	if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{event.CompanyID}}); err != nil {
		return err
	}
	tier, err := tx.LockTier(ctx, event, name)
	if err != nil {
		return err
	}
	for range batches {
		tier.Batches, tier.Total = tier.Batches+1, tier.Total+1
		err := tx.CreateBatch(ctx, driver.Batch{
			CompanyID: event.CompanyID, EventID: event.ID, Tier: name, Position: tier.Batches, Title: "Row",
			UnitPrice: 50_00, Status: driver.InventoryAvailable, Quantity: 1, CreatedAt: opening,
		})
		if err != nil {
			return err
		}
	}
	return tx.UpdateTiers(ctx, []driver.Tier{tier})
}
