package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
)

// listOrders implements section 4.8.
func listOrders(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	filter := ticketing.OrderFilter{
		PageParams: q.pageParams(),
		EventID:    q.queryID("eventId"),
		Statuses:   queryWords[ticketing.OrderStatus](q, "status"),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return paged(svc.ListOrders(ctx, q.caller, filter))
}

// getOrder implements section 4.8.
func getOrder(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	orderID := q.pathID("orderId")
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.GetOrder(ctx, q.caller, orderID))
}
