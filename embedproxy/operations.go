package embedproxy

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/strictjson"
)

// operation is one of the four of section 4.12. It reads a payload and returns the task to run.
type operation func(payload *strictjson.Object) task

// task is an operation with its payload.
type task struct {
	checkout bool
	run      func(context.Context, *exchange) (success, error)
}

// success is what the browser gets.
type success struct {
	status    int
	requestID string
	body      []byte
}

func operations() map[string]operation {
	return map[string]operation{
		"events.list":      listEvents,
		"events.inventory": listInventory,
		"pricing.quote":    getQuote,
		"checkout.create":  createOrder,
	}
}

func listEvents(payload *strictjson.Object) task {
	query := readListQuery(payload)
	path := "/events?status=" + published // The payload has no status member.
	if query.limit > 0 {
		path += "&limit=" + strconv.Itoa(query.limit)
	}
	if query.cursor != "" {
		path += "&cursor=" + query.cursor // Its alphabet needs no escapes.
	}
	return task{run: func(ctx context.Context, x *exchange) (success, error) {
		body, err := x.call(ctx, call{method: http.MethodGet, path: path}, http.StatusOK)
		if err != nil {
			return success{}, err
		}
		return project(readPage(body, (*reader).events))
	}}
}

func listInventory(payload *strictjson.Object) task {
	event := readEventID(payload)
	return task{run: func(ctx context.Context, x *exchange) (success, error) {
		if err := x.provePublished(ctx, event); err != nil {
			return success{}, err
		}
		body, err := x.call(ctx, call{method: http.MethodGet, path: eventPath(event) + "/inventory"}, http.StatusOK)
		if err != nil {
			return success{}, err
		}
		tiers, err := project(readResource(body, (*reader).tiers))
		if err != nil {
			return success{}, err
		}
		return tiers, x.provePublished(ctx, event)
	}}
}

func getQuote(payload *strictjson.Object) task {
	query := readQuoteQuery(payload)
	return task{run: func(ctx context.Context, x *exchange) (success, error) {
		if err := x.provePublished(ctx, query.EventID); err != nil {
			return success{}, err
		}
		question := call{method: http.MethodPost, path: "/pricing/quote", body: encode(query)}
		body, err := x.call(ctx, question, http.StatusOK)
		if err != nil {
			return success{}, err
		}
		quoted, err := readResource(body, (*reader).quote)
		return project(quoted, about(query.EventID, quoted.Data.EventID, err))
	}}
}

func createOrder(payload *strictjson.Object) task {
	b := readBasket(payload)
	return task{checkout: true, run: func(ctx context.Context, x *exchange) (success, error) {
		if err := x.provePublished(ctx, b.eventID); err != nil {
			return success{}, err
		}
		if err := x.mayBuy(ctx, b); err != nil {
			return success{}, err
		}
		// The buyer may have paid, so the checkout continues without the browser.
		ctx, cancel := detached(ctx)
		defer cancel()
		order := call{method: http.MethodPost, path: "/checkouts", key: b.key, body: b.body()}
		body, err := x.call(ctx, order, http.StatusCreated)
		if err != nil {
			return success{}, err
		}
		sold, err := readResource(body, (*reader).order)
		done, err := project(sold, about(b.eventID, sold.Data.EventID, err))
		done.status = http.StatusCreated
		return done, err
	}}
}

// detached returns a context that ends at the deadline of ctx and does not end when ctx is cancelled.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline() // An operation always has a deadline.
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

func eventPath(event uuid.UUID) string { return "/events/" + event.String() }

// project encodes for the browser what was read.
func project[T any](read envelope[T], err error) (success, error) {
	if err != nil {
		return success{}, err
	}
	return success{status: http.StatusOK, requestID: read.Meta.RequestID, body: encode(read)}, nil
}

// about checks that an answer is about the requested event.
func about(event uuid.UUID, answered string, err error) error {
	if err == nil && !strings.EqualFold(event.String(), answered) {
		return &rejection{reason: "data: is about another event"}
	}
	return err
}

// provePublished reads an event. It returns NOT_FOUND if the event is not published.
func (x *exchange) provePublished(ctx context.Context, event uuid.UUID) error {
	body, err := x.call(ctx, call{method: http.MethodGet, path: eventPath(event)}, http.StatusOK)
	if err != nil {
		return err
	}
	found, err := readResource(body, (*reader).event)
	if err := about(event, found.Data.ID, err); err != nil {
		return err
	}
	if found.Data.Status != published {
		return &failure{status: http.StatusNotFound, code: "NOT_FOUND", message: "The event was not found."}
	}
	return nil
}

// call calls the API once. It returns the body of a success.
func (x *exchange) call(ctx context.Context, c call, status int) ([]byte, error) {
	c.requestID, c.buyer = x.id, x.buyer
	a, err := x.upstream.exchange(ctx, c)
	if err == nil {
		err = a.succeed(status)
	}
	return a.body, err
}
