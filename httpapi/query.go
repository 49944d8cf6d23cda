package httpapi

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// query is the query of a request: which parameters were sent, and which were read.
type query struct {
	read       bool
	parameters []parameter
}

type parameter struct {
	name, value string
	known       bool
}

// noCursor holds a character that no cursor has, so the service refuses it as malformed.
const noCursor = "."

// readQuery parses the query once. It does not use url.ParseQuery, which would drop malformed parameters.
func (q *request) readQuery() {
	if q.query.read {
		return
	}
	q.query.read = true
	for pair := range strings.SplitSeq(q.r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			q.Refuse("query", "has a malformed escape")
			continue
		}
		q.query.parameters = append(q.query.parameters, parameter{name: name, value: value})
	}
}

// parameter returns a parameter and reports whether it was sent. It refuses a parameter that was sent twice.
func (q *request) parameter(name string) (string, bool) {
	q.readQuery()
	var value string
	var sent bool
	for i := range q.query.parameters {
		p := &q.query.parameters[i]
		if p.name != name {
			continue
		}
		if sent && !p.known {
			q.Refuse(name, "must be sent once")
		}
		if !sent {
			value = p.value
		}
		sent, p.known = true, true
	}
	return value, sent
}

func (q *request) refuseUnknownQuery() {
	q.readQuery()
	for _, p := range q.query.parameters {
		if !p.known {
			q.Refuse(strictjson.Shortened(p.name), "is not a known query parameter")
		}
	}
}

// pageParams reads limit and cursor (section 4.10).
func (q *request) pageParams() ticketing.PageParams {
	var params ticketing.PageParams
	if text, sent := q.parameter("limit"); sent {
		if params.Limit = parseLimit(text); params.Limit == 0 {
			q.Refuse("limit", "must be a whole number from 1 to "+strconv.Itoa(ticketing.MaxPageLimit))
		}
	}
	if text, sent := q.parameter("cursor"); sent {
		// An empty cursor is malformed, but in the Go API it means the first page.
		params.Cursor = cmp.Or(text, noCursor)
	}
	return params
}

// parseLimit parses a plain decimal from 1 to 100; anything else is 0.
func parseLimit(text string) int {
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > ticketing.MaxPageLimit || text[0] == '0' || text[0] == '+' {
		return 0
	}
	return limit
}

// queryID reads a parameter that is an id. It returns the zero id if the parameter was not sent.
func (q *request) queryID(name string) uuid.UUID {
	text, sent := q.parameter(name)
	if !sent {
		return uuid.Nil
	}
	id, err := ticketing.ParseID(text)
	if err != nil {
		q.Refuse(name, err.Error())
	}
	return id
}

// queryWord reads a parameter that is a value of an enumeration. The service checks the value.
func queryWord[T ~string](q *request, name string) T {
	text, sent := q.parameter(name)
	if sent && text == "" {
		q.Refuse(name, "must not be empty")
	}
	return T(text)
}

// queryWords reads a parameter that is a comma-separated list of an enumeration, each value once (section 4.8).
func queryWords[T ~string](q *request, name string) []T {
	text, sent := q.parameter(name)
	if !sent {
		return nil
	}
	var words []T
	for word := range strings.SplitSeq(text, ",") {
		switch {
		case word == "":
			q.Refuse(name, "must be values separated by single commas")
			return nil
		case slices.Contains(words, T(word)):
			q.Refuse(name, "must not repeat a value")
			return nil
		}
		words = append(words, T(word))
	}
	return words
}
