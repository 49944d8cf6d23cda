package embedproxy

import (
	"context"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Upstream is the API that a proxy calls. [Remote] and [Local] return one.
type Upstream interface {
	// exchange makes one call, once. Its error is a rejection.
	exchange(ctx context.Context, c call) (answer, error)
}

// call is one request of the API.
type call struct {
	method    string
	path      string // relative to the base address, with the query, escaped
	key       string // the idempotency key; empty: none
	requestID string
	body      []byte     // nil: none
	buyer     netip.Addr // the address of the browser's request; invalid: unknown
	anonymous bool       // sent without the API key
}

// answer is what the API returned, not yet checked.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// maxAnswer bounds the body of an answer, in bytes. It has room for a list of 100 events whose texts all have their
// greatest length, in characters of four bytes each.
const maxAnswer = 8 << 20

// rejection is the error of a call without a valid answer. The call may or may not have been done. The reason repeats
// nothing of an answer.
type rejection struct {
	reason    string
	requestID string // of the proxy's answer
}

func (e *rejection) Error() string { return "embedproxy: " + e.reason }

// succeed checks that an answer is a success with a status. It returns a [failure] for a refusal of the API, and a
// rejection for anything else.
func (a answer) succeed(status int) error {
	switch {
	case !isJSON(a.header["Content-Type"]):
		return &rejection{reason: "Content-Type: must be application/json"}
	case a.status == status:
		return nil
	case a.status < http.StatusBadRequest || a.status > 599:
		return &rejection{reason: "status: is not that of the operation, but " + strconv.Itoa(a.status)}
	}
	f, err := readFailure(a.body)
	if err != nil {
		return err
	}
	f.status = a.status
	if sent := a.header["Retry-After"]; len(sent) == 1 && isRetryAfter(sent[0]) {
		f.retryAfter = sent[0]
	}
	return f
}

// isJSON reports whether there is one Content-Type and it is application/json, in any case. Its only parameter may be a
// charset, which must be UTF-8.
func isJSON(sent []string) bool {
	if len(sent) != 1 {
		return false
	}
	if sent[0] == "application/json" || sent[0] == contentType {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(sent[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, named := params["charset"]
	return len(params) == 0 || len(params) == 1 && named && strings.EqualFold(charset, "utf-8")
}

// isRetryAfter reports whether a text is a number of seconds or a date of HTTP.
func isRetryAfter(text string) bool {
	if _, err := strconv.ParseUint(text, 10, 31); err == nil {
		return true
	}
	_, err := http.ParseTime(text)
	return err == nil
}
