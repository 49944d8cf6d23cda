package money

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// ErrObject is the error of [Amount.UnmarshalJSON] for JSON that is not a money
// object of the service.
var ErrObject = errors.New(`must be a money object such as {"amount":"12.00","currency":"NGN"}`)

// MarshalJSON returns the money object of Section 2.1, with its members in
// this order and no space: {"amount":"12.00","currency":"NGN"}. It never
// fails, also beyond [MaxBalance], which no amount of the service exceeds.
func (a Amount) MarshalJSON() ([]byte, error) {
	const maxObject = len(`{"amount":"","currency":""}`) + maxText + len(Currency)
	return a.AppendJSON(make([]byte, 0, maxObject)), nil
}

// AppendJSON appends to b what [Amount.MarshalJSON] returns, and returns the
// extended slice. It allocates only if b has no room.
func (a Amount) AppendJSON(b []byte) []byte {
	b = append(b, `{"amount":"`...)
	b = a.appendText(b)
	return append(b, `","currency":"`+Currency+`"}`...)
}

// UnmarshalJSON reads what [Amount.MarshalJSON] wrote, from -[MaxBalance] to
// [MaxBalance]. It is for results, exports and responses of the service itself.
// Money from a client is a string, which [Parse] parses.
//
// Spaces between the tokens and the order of the members are free, as JSON
// allows. Other members are ignored, since a later service may add them
// (section 9). Everything else is strict: both members once, their names in
// this case, exactly two decimals, no "-0.00", the currency "NGN". A null is
// refused, too, unlike in other types of package json. The error is
// [ErrObject], and a keeps its value.
func (a *Amount) UnmarshalJSON(data []byte) error {
	members, ok := objectMembers(data)
	if !ok || members["currency"] != Currency {
		return ErrObject
	}
	read, ok := parseOutput(members["amount"])
	if !ok {
		return ErrObject
	}
	*a = read
	return nil
}

// objectMembers reads amount and currency of an object, both strings. It reads
// token by token, since decoding into a struct or a map would accept a repeated
// member, and into a struct also a name in another case.
func objectMembers(data []byte) (map[string]string, bool) {
	const count = 2
	decoder := json.NewDecoder(bytes.NewReader(data))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	members := make(map[string]string, count)
	for decoder.More() {
		name, ok := stringToken(decoder)
		if !ok {
			return nil, false
		}
		if name != "amount" && name != "currency" {
			var ignored json.RawMessage
			if decoder.Decode(&ignored) != nil {
				return nil, false
			}
			continue
		}
		value, ok := stringToken(decoder)
		if _, twice := members[name]; twice || !ok {
			return nil, false
		}
		members[name] = value
	}
	if end, err := decoder.Token(); err != nil || end != json.Delim('}') {
		return nil, false
	}
	_, err := decoder.Token()
	return members, errors.Is(err, io.EOF)
}

func stringToken(decoder *json.Decoder) (string, bool) {
	token, err := decoder.Token()
	if err != nil {
		return "", false
	}
	s, ok := token.(string)
	return s, ok
}

// parseOutput is the inverse of [Amount.String] within [MaxBalance].
func parseOutput(s string) (Amount, bool) {
	const maxWhole = 15
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, ok := cutDecimal(digits, maxWhole, 2)
	if !ok || len(fraction) != 2 {
		return 0, false
	}
	a := joinAmount(whole, fraction)
	if negative {
		return -a, a != 0
	}
	return a, true
}
