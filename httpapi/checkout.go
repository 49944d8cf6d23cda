package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
)

// checkout implements section 4.7.
func checkout(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.CheckoutParams{
		EventID: required(body, "eventId", id),
		Buyer:   required(body, "buyer", fields(buyer)),
		Lines:   required(body, "lines", items(fields(checkoutLine))),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.Checkout(ctx, q.caller, q.key, params))
}

func buyer(member *object) ticketing.BuyerParams {
	return ticketing.BuyerParams{
		Email:    required(member, "email", text),
		Fullname: optional(member, "fullname", text),
		Phone:    optional(member, "phone", text),
	}
}

func checkoutLine(line *object) ticketing.CheckoutLine {
	return ticketing.CheckoutLine{
		Tier:              required(line, "tier", text),
		Quantity:          required(line, "quantity", integer),
		ExpectedUnitPrice: required(line, "expectedUnitPrice", amount),
		Currency:          required(line, "currency", text),
	}
}
