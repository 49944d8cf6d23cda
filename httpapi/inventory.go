package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
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
		Tier:        strictjson.Required(body, "tier", strictjson.Text),
		Title:       strictjson.Required(body, "title", strictjson.Text),
		Description: strictjson.Optional(body, "description", strictjson.Text),
		UnitPrice:   strictjson.Required(body, "unitPrice", amount),
		Currency:    strictjson.Required(body, "currency", strictjson.Text),
		IsFree:      strictjson.Required(body, "isFree", strictjson.Boolean),
		Quantity:    strictjson.Required(body, "quantity", strictjson.Integer),
		Status:      strictjson.Required(body, "status", strictjson.Enum[ticketing.InventoryStatus]),
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
		UnitPrice: strictjson.Changed(body, "unitPrice", amount),
		Currency:  strictjson.Changed(body, "currency", strictjson.Text),
		IsFree:    strictjson.Changed(body, "isFree", strictjson.Boolean),
		Status:    strictjson.Changed(body, "status", strictjson.Enum[ticketing.InventoryStatus]),
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
