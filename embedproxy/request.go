package embedproxy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/publicurl"
	"github.com/floatgate/ticketing/internal/strictjson"
	"github.com/floatgate/ticketing/money"
)

// Limits of a buyer's texts, in characters (section 8).
const (
	maxEmail    = 320
	maxFullname = 200
	maxPhone    = 50
)

// maxTier is the length of the longest name of a tier, in characters.
const maxTier = 60

// listQuery is the payload of events.list.
type listQuery struct {
	limit  int    // 0: not sent
	cursor string // empty: not sent
}

func readListQuery(payload *strictjson.Object) listQuery {
	return listQuery{
		limit: strictjson.Present(payload, "limit", func(at strictjson.Place, value jsontext.Value) int {
			n := strictjson.Integer(at, value)
			if n < 1 || n > ticketing.MaxPageLimit {
				at.Refuse(fmt.Sprintf("must be a whole number from 1 to %d", ticketing.MaxPageLimit))
			}
			return n
		}),
		cursor: strictjson.Present(payload, "cursor", func(at strictjson.Place, value jsontext.Value) string {
			text := strictjson.Text(at, value)
			if !isCursor(text) {
				at.Refuse(fmt.Sprintf("must be 1 to %d letters, digits, hyphens and underscores", maxCursor))
			}
			return text
		}),
	}
}

func readEventID(payload *strictjson.Object) uuid.UUID {
	return strictjson.Required(payload, "eventId", eventID)
}

func eventID(at strictjson.Place, value jsontext.Value) uuid.UUID {
	return strictjson.ParseString(at, value, ticketing.ParseID)
}

// quoteQuery is the payload of pricing.quote, and the body of the API's request.
type quoteQuery struct {
	EventID uuid.UUID        `json:"eventId"`
	Lines   []quoteQueryLine `json:"lines"`
}

type quoteQueryLine struct {
	Tier     string `json:"tier"`
	Quantity int    `json:"quantity"`
}

func readQuoteQuery(payload *strictjson.Object) quoteQuery {
	return quoteQuery{
		EventID: readEventID(payload),
		Lines: readLines(payload, func(line *strictjson.Object) quoteQueryLine {
			return quoteQueryLine{Tier: readTier(line), Quantity: readQuantity(line)}
		}, func(l quoteQueryLine) (string, int) { return l.Tier, l.Quantity }),
	}
}

func readTier(line *strictjson.Object) string {
	return strictjson.Required(line, "tier", func(at strictjson.Place, value jsontext.Value) string {
		text := strictjson.Text(at, value)
		if n := utf8.RuneCountInString(text); n < 1 || n > maxTier {
			at.Refuse(fmt.Sprintf("must be 1 to %d characters", maxTier))
		}
		return text
	})
}

func readQuantity(line *strictjson.Object) int {
	return strictjson.Required(line, "quantity", func(at strictjson.Place, value jsontext.Value) int {
		n := strictjson.Integer(at, value)
		if n < 1 || n > ticketing.MaxAdmissions {
			at.Refuse(fmt.Sprintf("must be a whole number from 1 to %d", ticketing.MaxAdmissions))
		}
		return n
	})
}

// readLines reads lines and checks them together: their number, their tiers and their total quantity.
func readLines[L any](
	payload *strictjson.Object, read func(*strictjson.Object) L, of func(L) (tier string, quantity int),
) []L {
	items := strictjson.Items(strictjson.Fields(read))
	return strictjson.Required(payload, "lines", func(at strictjson.Place, value jsontext.Value) []L {
		lines := items(at, value)
		if len(lines) < 1 || len(lines) > ticketing.MaxAdmissions {
			at.Refuse(fmt.Sprintf("must be 1 to %d lines", ticketing.MaxAdmissions))
			return nil
		}
		seen, total := make(map[string]bool, len(lines)), 0
		for _, line := range lines {
			tier, quantity := of(line)
			if seen[tier] {
				at.Refuse("must not have a tier twice")
			}
			seen[tier] = true
			total += quantity
		}
		if total > ticketing.MaxAdmissions {
			at.Refuse(fmt.Sprintf("must be for at most %d admissions in all", ticketing.MaxAdmissions))
		}
		return lines
	})
}

// basket is the payload of checkout.create.
type basket struct {
	eventID uuid.UUID
	buyer   ticketing.BuyerParams
	lines   []ticketing.CheckoutLineParams
	key     string
}

func readBasket(payload *strictjson.Object) basket {
	return basket{
		eventID: readEventID(payload),
		buyer:   strictjson.Required(payload, "buyer", strictjson.Fields(readBuyer)),
		lines: readLines(payload, readBasketLine, func(l ticketing.CheckoutLineParams) (string, int) {
			return l.Tier, l.Quantity
		}),
		key: strictjson.Required(payload, "idempotencyKey", readKey),
	}
}

func readBasketLine(line *strictjson.Object) ticketing.CheckoutLineParams {
	return ticketing.CheckoutLineParams{
		Tier:     readTier(line),
		Quantity: readQuantity(line),
		ExpectedUnitPrice: strictjson.Required(line, "expectedUnitPrice",
			func(at strictjson.Place, value jsontext.Value) money.Amount {
				return strictjson.ParseString(at, value, money.Parse)
			}),
		Currency: strictjson.Required(line, "currency", func(at strictjson.Place, value jsontext.Value) string {
			text := strictjson.Text(at, value)
			if text != money.Currency {
				at.Refuse("must be " + money.Currency)
			}
			return text
		}),
	}
}

func readBuyer(buyer *strictjson.Object) ticketing.BuyerParams {
	return ticketing.BuyerParams{
		Email:    strictjson.Required(buyer, "email", readEmail),
		Fullname: strictjson.Optional(buyer, "fullname", line(maxFullname)),
		Phone:    strictjson.Optional(buyer, "phone", line(maxPhone)),
	}
}

// line returns a function that reads a text on one line, of at most so many characters, and trims it.
func line(most int) func(strictjson.Place, jsontext.Value) string {
	return func(at strictjson.Place, value jsontext.Value) string {
		text := strings.TrimSpace(strictjson.Text(at, value))
		switch {
		case utf8.RuneCountInString(text) > most:
			at.Refuse(fmt.Sprintf("must be at most %d characters", most))
		case strings.ContainsFunc(text, unicode.IsControl):
			at.Refuse("must not contain control characters")
		}
		return text
	}
}

// readEmail reads an address in the form that the API keeps. The API checks the details of its local part.
func readEmail(at strictjson.Place, value jsontext.Value) string {
	text := strings.ToLower(line(maxEmail)(at, value))
	if i := strings.LastIndexByte(text, '@'); i < 1 || !publicurl.IsDomain(text[i+1:]) {
		at.Refuse("must be one email address, such as ada@example.com")
	}
	return text
}

func readKey(at strictjson.Place, value jsontext.Value) string {
	return strictjson.ParseString(at, value, func(text string) (string, error) {
		if ticketing.CheckIdempotencyKey(text) != nil {
			return "", errors.New("must be 8 to 128 letters, digits and . _ : -, the first a letter or digit")
		}
		return text, nil
	})
}

// checkoutBody is the body of the API's request for a basket. The idempotency key is in a header.
type checkoutBody struct {
	EventID uuid.UUID          `json:"eventId"`
	Buyer   checkoutBuyer      `json:"buyer"`
	Lines   []checkoutBodyLine `json:"lines"`
}

type checkoutBuyer struct {
	Email    string `json:"email"`
	Fullname string `json:"fullname,omitempty"`
	Phone    string `json:"phone,omitempty"`
}

type checkoutBodyLine struct {
	Tier              string `json:"tier"`
	Quantity          int    `json:"quantity"`
	ExpectedUnitPrice string `json:"expectedUnitPrice"`
	Currency          string `json:"currency"`
}

func (b basket) body() []byte {
	lines := make([]checkoutBodyLine, len(b.lines))
	for i, l := range b.lines {
		lines[i] = checkoutBodyLine{
			Tier: l.Tier, Quantity: l.Quantity, ExpectedUnitPrice: l.ExpectedUnitPrice.String(), Currency: l.Currency,
		}
	}
	return encode(checkoutBody{EventID: b.eventID, Buyer: checkoutBuyer(b.buyer), Lines: lines})
}
