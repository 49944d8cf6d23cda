package embedproxy

import "github.com/floatgate/ticketing"

// quote is a pricing quote as a browser gets it: the whole of section 2.5.
type quote struct {
	Object   string      `json:"object"`
	EventID  string      `json:"eventId"`
	Currency string      `json:"currency"`
	Lines    []quoteLine `json:"lines"`
	Total    amount      `json:"total"`
	QuotedAt string      `json:"quotedAt"`
}

type quoteLine struct {
	Tier             string `json:"tier"`
	Quantity         int    `json:"quantity"`
	UnitPrice        amount `json:"unitPrice"`
	Subtotal         amount `json:"subtotal"`
	AvailableAtPrice int    `json:"availableAtPrice"`
}

func (r *reader) quote() quote {
	var q quote
	for name := range r.members("object", "eventId", "currency", "lines", "total", "quotedAt") {
		switch name {
		case "object":
			q.Object = r.one("pricing_quote")
		case "eventId":
			q.EventID = r.id()
		case "currency":
			q.Currency = r.currency()
		case "lines":
			q.Lines = list(r, 1, ticketing.MaxAdmissions, (*reader).quoteLine)
		case "total":
			q.Total = r.amount()
		case "quotedAt":
			q.QuotedAt = r.timestamp()
		}
	}
	return q
}

func (r *reader) quoteLine() quoteLine {
	var l quoteLine
	for name := range r.members("tier", "quantity", "unitPrice", "subtotal", "availableAtPrice") {
		switch name {
		case "tier":
			l.Tier = r.category()
		case "quantity":
			l.Quantity = r.integer(1, ticketing.MaxAdmissions)
		case "unitPrice":
			l.UnitPrice = r.amount()
		case "subtotal":
			l.Subtotal = r.amount()
		case "availableAtPrice":
			l.AvailableAtPrice = r.integer(1, maxQuantity)
		}
	}
	return l
}
