package ticketing_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
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
	is.Equal([]int64{*regular.SoldQuantity, *regular.CancelledQuantity, regular.AvailableQuantity}, []int64{1, 3, 0})
	is.Equal(vip.Status, ticketing.InventoryPaused)
	is.Equal([]int64{*vip.SoldQuantity, vip.PausedQuantity, vip.TotalAdmissions}, []int64{2, 5, 7})
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
