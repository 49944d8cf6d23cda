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

// maxViolations is how many violations one answer tells, whatever a body of 256 KiB is full of.
const maxViolations = 50

// request reads the parts of a request for its operation and gathers all that is wrong with them. What can't be read
// is the zero value; before the operation uses what it read, it asks valid.
type request struct {
	*exchange

	key        string // Idempotency-Key
	violations []ticketing.Violation
	objects    []*object         // of the body, whose members have to be known
	decoder    *jsontext.Decoder // of the body, used again for each level of it
	query      query
}

// refuse notes what is wrong with the part of the request that the path names.
func (q *request) refuse(path, message string) {
	if len(q.violations) < maxViolations {
		q.violations = append(q.violations, ticketing.Violation{Message: path + ": " + message})
	}
}

// valid is INVALID_REQUEST where anything is wrong, or was sent and is not known.
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

// readKey reads the Idempotency-Key. That there is none is told before anything else (section 4.11); that it is
// malformed, together with the rest.
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
