package httpapi

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// request reads the parts of a request for its operation and collects their violations. A part that cannot be read is
// the zero value. The operation calls valid before it uses what it read.
type request struct {
	*exchange

	strictjson.Reader // of the body; it keeps the violations of the other parts, too

	key   string // Idempotency-Key
	query query
}

// body reads the body, which has to be an object.
func (q *request) body() *strictjson.Object {
	return q.Body(q.ResponseWriter, q.r, q.api.maxBody, false)
}

// optionalBody reads the body; an absent body is an empty object (section 4.9).
func (q *request) optionalBody() *strictjson.Object {
	return q.Body(q.ResponseWriter, q.r, q.api.maxBody, true)
}

// valid returns INVALID_REQUEST if there is any violation, or an unknown member or parameter.
func (q *request) valid() error {
	q.Violations() // Those of the body come first.
	q.refuseUnknownQuery()
	found := q.Violations()
	if len(found) == 0 {
		return nil
	}
	violations := make([]ticketing.Violation, len(found))
	for i, message := range found {
		violations[i].Message = message
	}
	return ticketing.Invalid(violations...)
}

// readKey reads the Idempotency-Key. A missing key is reported before anything else (section 4.11). A malformed key is
// reported together with the other violations.
func (q *request) readKey() error {
	sent := q.r.Header["Idempotency-Key"]
	if len(sent) > 1 {
		q.Refuse("Idempotency-Key", "must be sent once")
		return nil
	}
	if len(sent) == 1 {
		q.key = sent[0]
	}
	err := ticketing.CheckIdempotencyKey(q.key)
	if malformed, ok := errors.AsType[*ticketing.Error](err); ok && malformed.Code == ticketing.CodeInvalidRequest {
		for _, violation := range malformed.Violations {
			q.Add(violation.Message)
		}
		return nil
	}
	return err
}

// pathID reads a path parameter that is an id.
func (q *request) pathID(name string) uuid.UUID {
	id, err := ticketing.ParseID(q.pathText(name))
	if err != nil {
		q.Refuse(name, err.Error())
	}
	return id
}

// pathTier reads the path parameter that is a tier: any text, percent-decoded once.
func (q *request) pathTier() string {
	const name = "tier"
	tier := q.pathText(name)
	if !utf8.ValidString(tier) || strings.ContainsRune(tier, 0) {
		q.Refuse(name, "must be text in UTF-8 without U+0000")
		return ""
	}
	return tier
}

func (q *request) pathText(name string) string {
	text, err := url.PathUnescape(q.params.ByName(name))
	if err != nil {
		q.Refuse(name, "has a malformed escape")
	}
	return text
}
