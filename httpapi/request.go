package httpapi

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// maxViolations is how many violations one answer holds at most, whatever is wrong in a body of 256 KiB.
const maxViolations = 50

// request reads the parts of a request for its operation and collects their violations. What cannot be read is the zero
// value. The operation calls valid before it uses what it read.
type request struct {
	*exchange

	key        string // Idempotency-Key
	violations []ticketing.Violation
	objects    []*object         // of the body, whose members have to be known
	decoder    *jsontext.Decoder // of the body, used again for each level of it
	query      query
}

// refuse adds a violation at the part of the request that the path names.
func (q *request) refuse(path, message string) {
	if len(q.violations) < maxViolations {
		q.violations = append(q.violations, ticketing.Violation{Message: path + ": " + message})
	}
}

// valid returns INVALID_REQUEST if there is any violation, or an unknown member or parameter.
func (q *request) valid() error {
	for _, o := range q.objects {
		o.refuseUnknown()
	}
	q.refuseUnknownQuery()
	if len(q.violations) > 0 {
		return ticketing.Invalid(q.violations...)
	}
	return nil
}

// readKey reads the Idempotency-Key. A missing key is reported before anything else (section 4.11). A malformed key is
// reported together with the other violations.
func (q *request) readKey() error {
	sent := q.r.Header["Idempotency-Key"]
	if len(sent) > 1 {
		q.refuse("Idempotency-Key", "must be sent once")
		return nil
	}
	if len(sent) == 1 {
		q.key = sent[0]
	}
	err := ticketing.CheckIdempotencyKey(q.key)
	if malformed, ok := errors.AsType[*ticketing.Error](err); ok && malformed.Code == ticketing.CodeInvalidRequest {
		q.violations = append(q.violations, malformed.Violations...)
		return nil
	}
	return err
}

// pathID reads a path parameter that is an id.
func (q *request) pathID(name string) uuid.UUID {
	id, err := ticketing.ParseID(q.pathText(name))
	if err != nil {
		q.refuse(name, err.Error())
	}
	return id
}

// pathTier reads the path parameter that is a tier: any text, percent-decoded once.
func (q *request) pathTier() string {
	const name = "tier"
	tier := q.pathText(name)
	if !utf8.ValidString(tier) || strings.ContainsRune(tier, 0) {
		q.refuse(name, "must be text in UTF-8 without U+0000")
		return ""
	}
	return tier
}

func (q *request) pathText(name string) string {
	text, err := url.PathUnescape(q.params.ByName(name))
	if err != nil {
		q.refuse(name, "has a malformed escape")
	}
	return text
}
