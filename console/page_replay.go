package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/floatgate/ticketing"
)

// Limits of replaying many deliveries at once. A person waits for it, and the work ends with the request.
const (
	maxReplayed = 1000
	replayRate  = 200 // a second
)

// replayCount is what a replay of many deliveries would replay.
type replayCount struct {
	Count  int        `json:"count"` // at most one more than Most
	Most   int        `json:"most"`
	Filter replayForm `json:"filter"`

	Filters []field `json:"-"`
}

// replayForm are the members of the replay, as texts.
type replayForm struct {
	Status     string `json:"status,omitempty"`
	Type       string `json:"type,omitempty"`
	EndpointID string `json:"endpointId,omitempty"`
	Since      string `json:"since,omitempty"`
	Until      string `json:"until"`
}

// CanReplay reports whether there is something to replay, but not too much.
func (r replayCount) CanReplay() bool { return r.Count > 0 && r.Count <= r.Most }

// timeFormat is that of times in JSON.
const timeFormat = "2006-01-02T15:04:05.000Z"

func loadReplay(ctx context.Context, c *call) (view, error) {
	filter, err := deliveryFilter(c)
	if err != nil {
		return view{}, err
	}
	// Without an end the replay would also select what fails after the count.
	if filter.Until.IsZero() || filter.Until.After(c.now) {
		filter.Until = c.now
	}
	shown := replayCount{Most: maxReplayed}
	if shown.Count, err = c.operator.CountDeliveriesTo(ctx, c.companyID, filter, maxReplayed+1); err != nil {
		return view{}, err
	}
	shown.Filter = replayForm{
		Status: string(filter.Status), Type: string(filter.Type), EndpointID: c.query("endpointId"),
		Until: filter.Until.UTC().Format(timeFormat),
	}
	if !filter.Since.IsZero() {
		shown.Filter.Since = filter.Since.UTC().Format(timeFormat)
	}
	shown.Filters, err = deliveryFilters(ctx, c)
	return view{data: shown}, err
}

// Replay returns the address at which the deliveries of this page's filter are counted, to be replayed.
func (f *frame) Replay() string {
	_, query, _ := strings.Cut(f.With(), "?")
	path := f.Path(replayPath)
	if query == "" {
		return path
	}
	return path + "?" + query
}

func readReplay(m *members) ticketing.DeliveryFilter {
	filter := ticketing.DeliveryFilter{
		Status: optionalEnum[ticketing.DeliveryStatus](m, "status"), Type: optionalEnum[ticketing.FactType](m, "type"),
		Since: m.time("since"), Until: m.time("until"),
	}
	filter.EndpointID, _ = optionalParsed(m, "endpointId", ticketing.ParseID)
	return filter
}

func replayDeliveries(ctx context.Context, c *call, filter ticketing.DeliveryFilter) (outcome, error) {
	count, err := c.operator.CountDeliveriesTo(ctx, c.companyID, filter, maxReplayed+1)
	if err != nil {
		return outcome{}, err
	}
	if count > maxReplayed {
		return outcome{}, conflicted(fmt.Sprintf("At most %d deliveries are replayed at once, and these are more. "+
			"Choose a shorter time, or one endpoint.", maxReplayed))
	}
	result, err := c.operator.ReplayDeliveries(ctx, c.companyID,
		ticketing.ReplayParams{DeliveryFilter: filter, Rate: replayRate})
	done := formatPlural(result.Replayed, "delivery is", "deliveries are") + " being replayed."
	if result.Skipped > 0 {
		done += fmt.Sprintf(" %d were skipped: still pending, replayed already, or of an endpoint that is disabled "+
			"or deleted.",
			result.Skipped)
	}
	return outcome{data: result, done: done, next: c.expand(deliveriesPath)}, err
}
