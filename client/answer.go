package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// envelope is the JSON envelope of a success.
type envelope[T any] struct {
	Data *T `json:"data"`
	Meta struct {
		Page *struct {
			HasMore    bool   `json:"hasMore"`
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	} `json:"meta"`
}

// ask makes the call. The contract is checked first. A success that lacks a member that the operation needs is an
// error.
func ask[T any](ctx context.Context, c *Client, what call) (envelope[T], error) {
	var found envelope[T]
	body, err := encode(what.body)
	if err != nil {
		return found, err
	}
	if err := c.Verify(ctx); err != nil {
		return found, err
	}
	read := func(text []byte) error {
		found = envelope[T]{}
		if err := json.Unmarshal(text, &found); err != nil {
			return err
		}
		page := found.Meta.Page
		switch {
		case found.Data == nil || !isWhole(*found.Data):
			return errors.New("its data is not what the operation returns")
		case what.paged && (page == nil || page.HasMore && page.NextCursor == ""):
			return errors.New("it does not say which page follows") // Without it a listing ends early, or never.
		}
		return nil
	}
	err = c.exchange(ctx, what, func(id string) error { return c.attempt(ctx, what, body, id, read) })
	return found, err
}

// do makes the call as ask does and returns only the data.
func do[T any](ctx context.Context, c *Client, what call) (T, error) {
	found, err := ask[T](ctx, c, what)
	if err != nil {
		var none T
		return none, err
	}
	return *found.Data, nil
}

// isWhole reports whether data has the object type and an identifying member of the resource that it was decoded as.
// Without this check, any other JSON object would become a resource whose members are zero.
func isWhole(data any) bool {
	switch data := data.(type) {
	case ticketing.Event:
		return data.Object == "event" && data.ID != uuid.Nil
	case ticketing.InventoryTier:
		return data.Object == "inventory_tier" && data.Tier != ""
	case ticketing.Quote:
		return data.Object == "pricing_quote" && data.EventID != uuid.Nil
	case ticketing.Order:
		return data.Object == "order" && data.ID != uuid.Nil
	case ticketing.TicketValidation:
		return data.Object == "ticket_validation" && data.ID != uuid.Nil
	case []ticketing.Event:
		return each(data)
	case []ticketing.InventoryTier:
		return each(data)
	case []ticketing.Order:
		return each(data)
	}
	return false
}

func each[T any](items []T) bool {
	for _, item := range items {
		if !isWhole(item) {
			return false
		}
	}
	return true
}
