package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// CreateEvent creates an event (section 4.2). It needs COMPANY:event:manage and an idempotency key.
func (c *Client) CreateEvent(
	ctx context.Context, key string, params ticketing.CreateEventParams,
) (ticketing.Event, error) {
	return keyed[ticketing.Event](ctx, c, "/events", key, eventBody(params))
}

// ListEvents returns a page of the company's events, newest first (section 4.3). It needs COMPANY:event:read.
func (c *Client) ListEvents(
	ctx context.Context, filter ticketing.EventFilter,
) (ticketing.Page[ticketing.Event], error) {
	query := pageQuery(filter.PageParams)
	if filter.Status != "" {
		query.Set("status", string(filter.Status))
	}
	return list[ticketing.Event](ctx, c, "/events", query)
}

// Events iterates over all events, newest first, from the filter's cursor on. It requests the next page after the
// caller has read the one before. Pages have [ticketing.MaxPageLimit] events if the filter has no limit. The first
// error ends the sequence. Each use of the sequence starts from the beginning.
func (c *Client) Events(ctx context.Context, filter ticketing.EventFilter) iter.Seq2[ticketing.Event, error] {
	filter.Limit = cmp.Or(filter.Limit, ticketing.MaxPageLimit)
	return pages(filter.Cursor, func(cursor string) (ticketing.Page[ticketing.Event], error) {
		filter.Cursor = cursor
		return c.ListEvents(ctx, filter)
	})
}

// GetEvent returns one event (section 4.4). It needs COMPANY:event:read.
func (c *Client) GetEvent(ctx context.Context, eventID uuid.UUID) (ticketing.Event, error) {
	return do[ticketing.Event](ctx, c, call{method: http.MethodGet, path: eventPath(eventID), safe: true})
}

// UpdateEvent changes the members that are not nil (section 4.4). It needs COMPANY:event:manage.
func (c *Client) UpdateEvent(
	ctx context.Context, eventID uuid.UUID, params ticketing.UpdateEventParams,
) (ticketing.Event, error) {
	return do[ticketing.Event](ctx, c, call{
		method: http.MethodPatch, path: eventPath(eventID), body: eventChanges(params),
	})
}

// CancelEvent cancels an event and its unsold admissions (section 4.4). It needs COMPANY:event:manage.
func (c *Client) CancelEvent(ctx context.Context, eventID uuid.UUID) (ticketing.Event, error) {
	return do[ticketing.Event](ctx, c, call{method: http.MethodDelete, path: eventPath(eventID)})
}

// ListInventory returns the tiers of an event, by name (section 4.5). It needs COMPANY:inventory:read.
func (c *Client) ListInventory(ctx context.Context, eventID uuid.UUID) ([]ticketing.InventoryTier, error) {
	return do[[]ticketing.InventoryTier](ctx, c, call{
		method: http.MethodGet, path: eventPath(eventID) + "/inventory", safe: true,
	})
}

// CreateInventory adds a batch of admissions to a tier (section 4.5). It needs COMPANY:inventory:manage and an
// idempotency key.
func (c *Client) CreateInventory(
	ctx context.Context, eventID uuid.UUID, key string, params ticketing.CreateInventoryParams,
) (ticketing.InventoryTier, error) {
	return keyed[ticketing.InventoryTier](ctx, c, eventPath(eventID)+"/inventory", key, inventoryBody(params))
}

// UpdateInventory changes the price or the status of a tier's unsold admissions (section 4.5). It needs
// COMPANY:inventory:manage.
func (c *Client) UpdateInventory(
	ctx context.Context, eventID uuid.UUID, tier string, params ticketing.UpdateInventoryParams,
) (ticketing.InventoryTier, error) {
	path, err := tierPath(eventID, tier)
	if err != nil {
		return ticketing.InventoryTier{}, err
	}
	return do[ticketing.InventoryTier](ctx, c, call{
		method: http.MethodPatch, path: path, body: inventoryChanges(params),
	})
}

// CancelInventory cancels a tier's unsold admissions (section 4.5). It needs COMPANY:inventory:manage.
func (c *Client) CancelInventory(
	ctx context.Context, eventID uuid.UUID, tier string,
) (ticketing.InventoryTier, error) {
	path, err := tierPath(eventID, tier)
	if err != nil {
		return ticketing.InventoryTier{}, err
	}
	return do[ticketing.InventoryTier](ctx, c, call{method: http.MethodDelete, path: path})
}

// Quote returns the prices of lines (section 4.6). It reserves nothing. It needs COMPANY:inventory:read.
func (c *Client) Quote(ctx context.Context, params ticketing.QuoteParams) (ticketing.Quote, error) {
	return do[ticketing.Quote](ctx, c, call{
		method: http.MethodPost, path: "/pricing/quote", body: quoteBody(params), safe: true,
	})
}

// Checkout sells admissions (section 4.7). It needs COMPANY:checkout:create and an idempotency key.
func (c *Client) Checkout(
	ctx context.Context, key string, params ticketing.CheckoutParams,
) (ticketing.Order, error) {
	return keyed[ticketing.Order](ctx, c, "/checkouts", key, checkoutBody(params))
}

// ListOrders returns a page of the company's orders, newest first (section 4.8). It needs COMPANY:order:read.
func (c *Client) ListOrders(
	ctx context.Context, filter ticketing.OrderFilter,
) (ticketing.Page[ticketing.Order], error) {
	query := pageQuery(filter.PageParams)
	if filter.EventID != uuid.Nil {
		query.Set("eventId", filter.EventID.String())
	}
	if len(filter.Statuses) > 0 {
		statuses := make([]string, len(filter.Statuses))
		for i, status := range filter.Statuses {
			statuses[i] = string(status)
		}
		query.Set("status", strings.Join(statuses, ","))
	}
	return list[ticketing.Order](ctx, c, "/orders", query)
}

// Orders iterates over all orders, newest first, from the filter's cursor on. It reads pages as [Client.Events] does.
func (c *Client) Orders(ctx context.Context, filter ticketing.OrderFilter) iter.Seq2[ticketing.Order, error] {
	filter.Limit = cmp.Or(filter.Limit, ticketing.MaxPageLimit)
	return pages(filter.Cursor, func(cursor string) (ticketing.Page[ticketing.Order], error) {
		filter.Cursor = cursor
		return c.ListOrders(ctx, filter)
	})
}

// GetOrder returns one order (section 4.8). It needs COMPANY:order:read.
func (c *Client) GetOrder(ctx context.Context, orderID uuid.UUID) (ticketing.Order, error) {
	return do[ticketing.Order](ctx, c, call{method: http.MethodGet, path: "/orders/" + orderID.String(), safe: true})
}

// ValidateAdmission admits the holder of a ticket, once (section 4.9). It needs COMPANY:ticket:validate and an
// idempotency key: one for all retries of one scan, a new one for a new scan.
func (c *Client) ValidateAdmission(
	ctx context.Context, eventID, admissionID uuid.UUID, key string, params ticketing.ValidateParams,
) (ticketing.TicketValidation, error) {
	path := eventPath(eventID) + "/admissions/" + admissionID.String() + "/validate"
	return keyed[ticketing.TicketValidation](ctx, c, path, key, validationBody(params))
}

func eventPath(id uuid.UUID) string { return "/events/" + id.String() }

// tierPath refuses names that no tier has and that path cleaning removes: a request for the tier ".." would become a
// request for its event.
func tierPath(eventID uuid.UUID, tier string) (string, error) {
	if tier == "" || tier == "." || tier == ".." {
		return "", ticketing.Invalid(ticketing.Violation{Message: "tier: is not the name of a tier"})
	}
	return eventPath(eventID) + "/inventory/" + url.PathEscape(tier), nil
}

func pageQuery(params ticketing.PageParams) url.Values {
	query := make(url.Values)
	if params.Limit != 0 {
		query.Set("limit", strconv.Itoa(params.Limit))
	}
	if params.Cursor != "" {
		query.Set("cursor", params.Cursor)
	}
	return query
}

func list[T any](ctx context.Context, c *Client, path string, query url.Values) (ticketing.Page[T], error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	found, err := ask[[]T](ctx, c, call{method: http.MethodGet, path: path, safe: true, paged: true})
	if err != nil {
		return ticketing.Page[T]{}, err
	}
	page := found.Meta.Page
	return ticketing.Page[T]{Items: *found.Data, HasMore: page.HasMore, NextCursor: page.NextCursor}, nil
}

// pages iterates over a list from a cursor on. If cursors repeat in a circle, it ends with an error; otherwise it would
// never end.
func pages[T any](cursor string, page func(cursor string) (ticketing.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		at := cursor // Each use of the sequence starts from the beginning.
		// Keep one cursor for twice as many pages each time. The sequence meets that cursor again wherever the circle begins
		// (Brent's algorithm).
		kept, turned, reach := at, 0, 1
		for {
			found, err := page(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range found.Items {
				if !yield(item, nil) {
					return
				}
			}
			if !found.HasMore {
				return
			}
			at = found.NextCursor
			if at == kept {
				yield(none, fmt.Errorf("%w: a page links to itself or to an earlier one", ErrAnswer))
				return
			}
			if turned++; turned == reach {
				kept, turned, reach = at, 0, 2*reach
			}
		}
	}
}
