package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// quote implements section 4.6.
func quote(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.QuoteParams{
		EventID: strictjson.Required(body, "eventId", id),
		Lines:   strictjson.Required(body, "lines", strictjson.Items(strictjson.Fields(quoteLine))),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.Quote(ctx, q.caller, params))
}

func quoteLine(line *strictjson.Object) ticketing.QuoteLineParams {
	return ticketing.QuoteLineParams{
		Tier:     strictjson.Required(line, "tier", strictjson.Text),
		Quantity: strictjson.Required(line, "quantity", strictjson.Integer),
	}
}
