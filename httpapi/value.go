package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
	"github.com/floatgate/ticketing/money"
)

// amount reads an amount of money (section 2.1).
func amount(at strictjson.Place, value jsontext.Value) money.Amount {
	return strictjson.ParseString(at, value, money.Parse)
}

// id reads the id of a resource.
func id(at strictjson.Place, value jsontext.Value) uuid.UUID {
	return strictjson.ParseString(at, value, ticketing.ParseID)
}
