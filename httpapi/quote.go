package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
)

// quote implements section 4.6.
func quote(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.QuoteParams{
		EventID: required(body, "eventId", id),
		Lines:   required(body, "lines", items(fields(quoteLine))),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.Quote(ctx, q.caller, params))
}

func quoteLine(line *object) ticketing.QuoteParamsLine {
	return ticketing.QuoteParamsLine{
		Tier:     required(line, "tier", text),
		Quantity: required(line, "quantity", integer),
	}
}
