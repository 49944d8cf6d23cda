package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// checkout implements section 4.7.
func checkout(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.CheckoutParams{
		EventID: strictjson.Required(body, "eventId", id),
		Buyer:   strictjson.Required(body, "buyer", strictjson.Fields(buyer)),
		Lines:   strictjson.Required(body, "lines", strictjson.Items(strictjson.Fields(checkoutLine))),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.Checkout(ctx, q.caller, q.key, params))
}

func buyer(member *strictjson.Object) ticketing.BuyerParams {
	return ticketing.BuyerParams{
		Email:    strictjson.Required(member, "email", strictjson.Text),
		Fullname: strictjson.Optional(member, "fullname", strictjson.Text),
		Phone:    strictjson.Optional(member, "phone", strictjson.Text),
	}
}

func checkoutLine(line *strictjson.Object) ticketing.CheckoutLineParams {
	return ticketing.CheckoutLineParams{
		Tier:              strictjson.Required(line, "tier", strictjson.Text),
		Quantity:          strictjson.Required(line, "quantity", strictjson.Integer),
		ExpectedUnitPrice: strictjson.Required(line, "expectedUnitPrice", amount),
		Currency:          strictjson.Required(line, "currency", strictjson.Text),
	}
}
