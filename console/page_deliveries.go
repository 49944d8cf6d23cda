package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/floatgate/ticketing"
)

// deliveryList is a page of deliveries with its filters.
type deliveryList struct {
	itemList[ticketing.WebhookDelivery]

	Filters  []field
	Filtered bool
}

// deliveryFilterNames returns the members of the query that select deliveries.
func deliveryFilterNames() []string {
	return []string{"status", "type", "endpointId", "since", "until"}
}

// deliveryFilter reads the query of a list of deliveries.
func deliveryFilter(c *call) (filter ticketing.DeliveryFilter, err error) {
	filter.Status = ticketing.DeliveryStatus(c.query("status"))
	filter.Type = ticketing.FactType(c.query("type"))
	if filter.EndpointID, err = c.queryID("endpointId"); err != nil {
		return filter, err
	}
	filter.Since, filter.Until, err = c.period()
	return filter, err
}

func loadDeliveries(ctx context.Context, c *call) (view, error) {
	filter, err := deliveryFilter(c)
	if err != nil {
		return view{}, err
	}
	shown, err := listed(c.operator.ListDeliveries(ctx, c.companyID, filter, c.paging()))
	if err != nil {
		return view{}, err
	}
	data := deliveryList{Filtered: isFiltered(c, deliveryFilterNames()...)}
	data.Items, _ = shown.data.([]ticketing.WebhookDelivery)
	if data.Filters, err = deliveryFilters(ctx, c); err != nil {
		return view{}, err
	}
	shown.data = data
	return shown, nil
}

// deliveryFilters returns the fields of the filter of deliveries.
func deliveryFilters(ctx context.Context, c *call) ([]field, error) {
	endpoints, err := c.operator.ListWebhookEndpoints(ctx, c.companyID)
	if err != nil {
		return nil, err
	}
	choices := []option{{Label: "All endpoints"}}
	for _, endpoint := range endpoints {
		choices = append(choices, option{Value: endpoint.ID.String(), Label: cut(endpoint.URL, 60)})
	}
	types := []option{{Label: "All events"}}
	for _, event := range ticketing.WebhookEventTypes() {
		types = append(types, option{Value: string(event), Label: string(event)})
	}
	return append([]field{
		chosenFilter(c, "status", "Status", option{Label: "All"}, option{Value: "FAILED", Label: "Failed"},
			option{Value: "PENDING", Label: "Pending"}, option{Value: "SUCCEEDED", Label: "Succeeded"},
			option{Value: "CANCELLED", Label: "Cancelled"}),
		chosenFilter(c, "type", "Event", types...),
		chosenFilter(c, "endpointId", "Endpoint", choices...),
	}, dayFilters(c)...), nil
}

// cut returns the beginning of a text, of at most n characters.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// deliveryDetail is what the page of a delivery shows.
type deliveryDetail struct {
	Delivery ticketing.WebhookDelivery `json:"delivery"`
	// Body is the body as it was sent, and Others are the other deliveries of the event. They are empty if the event is
	// no longer kept.
	Body   string                      `json:"body"`
	Others []ticketing.WebhookDelivery `json:"others"`
	// Endpoint is nil for one that was deleted.
	Endpoint *ticketing.WebhookEndpoint `json:"endpoint"`
}

// CanReplay reports whether a replay would be accepted.
func (d deliveryDetail) CanReplay() bool {
	return d.Endpoint != nil && d.Endpoint.Status == ticketing.WebhookEnabled &&
		d.Delivery.Status != ticketing.DeliveryPending
}

// Indented returns the body with line breaks, for people.
func (d deliveryDetail) Indented() string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(d.Body), "", "  ") != nil {
		return d.Body
	}
	return b.String()
}

func loadDelivery(ctx context.Context, c *call) (view, error) {
	delivery, err := ownDelivery(ctx, c)
	if err != nil {
		return view{}, err
	}
	shown := deliveryDetail{Delivery: delivery, Others: []ticketing.WebhookDelivery{}}
	message, err := c.operator.GetMessage(ctx, c.companyID, delivery.EventID)
	if err != nil && !errors.Is(err, ticketing.CodeNotFound) {
		return view{}, err
	}
	shown.Body = message.Body
	for _, other := range message.Deliveries {
		if other.ID != delivery.ID {
			shown.Others = append(shown.Others, other)
		}
	}
	endpoint, err := c.operator.GetWebhookEndpoint(ctx, delivery.EndpointID)
	switch {
	case err == nil:
		shown.Endpoint = &endpoint
	case !errors.Is(err, ticketing.CodeNotFound):
		return view{}, err
	}
	return view{data: shown}, nil
}

// ownDelivery returns the delivery of the path. It must be one of the company in the path.
func ownDelivery(ctx context.Context, c *call) (ticketing.WebhookDelivery, error) {
	delivery, err := c.operator.GetDelivery(ctx, c.pathID("deliveryId"))
	if err == nil && delivery.CompanyID != c.companyID {
		err = missing("The delivery")
	}
	return delivery, err
}

func replayDelivery(ctx context.Context, c *call, _ none) (outcome, error) {
	if _, err := ownDelivery(ctx, c); err != nil {
		return outcome{}, err
	}
	made, err := c.operator.ReplayDelivery(ctx, c.pathID("deliveryId"))
	return outcome{data: made, next: c.fill(deliveryPath, []any{"deliveryId", made.ID})}, err
}
