package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
)

// listInventory implements section 4.5.
func listInventory(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID := q.pathID("eventId")
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return list(svc.ListInventory(ctx, q.caller, eventID))
}

// createInventory implements section 4.5.
func createInventory(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID := q.pathID("eventId")
	body := q.body()
	params := ticketing.CreateInventoryParams{
		Tier:        required(body, "tier", text),
		Title:       required(body, "title", text),
		Description: optional(body, "description", text),
		UnitPrice:   required(body, "unitPrice", amount),
		Currency:    required(body, "currency", text),
		IsFree:      required(body, "isFree", boolean),
		Quantity:    required(body, "quantity", integer),
		Status:      required(body, "status", enum[ticketing.InventoryStatus]),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.CreateInventory(ctx, q.caller, eventID, q.key, params))
}

// updateInventory implements section 4.5.
func updateInventory(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID, tier := q.pathID("eventId"), q.pathTier()
	body := q.body()
	params := ticketing.UpdateInventoryParams{
		UnitPrice: changed(body, "unitPrice", amount),
		Currency:  changed(body, "currency", text),
		IsFree:    changed(body, "isFree", boolean),
		Status:    changed(body, "status", enum[ticketing.InventoryStatus]),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.UpdateInventory(ctx, q.caller, eventID, tier, params))
}

// cancelInventory implements section 4.5.
func cancelInventory(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID, tier := q.pathID("eventId"), q.pathTier()
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.CancelInventory(ctx, q.caller, eventID, tier))
}
