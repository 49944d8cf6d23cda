package embedproxy

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// envelope is a success for the browser.
type envelope[T any] struct {
	Data T    `json:"data"`
	Meta meta `json:"meta"`
}

type meta struct {
	RequestID string `json:"requestId"`
	Page      *page  `json:"page,omitempty"`
}

type page struct {
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"`
}

// readResource returns the projection of a success that is not paged.
func readResource[T any](body []byte, data func(*reader) T) (envelope[T], error) {
	return readEnvelope(body, data, (*reader).meta)
}

// readPage returns the projection of a page of a list.
func readPage[T any](body []byte, data func(*reader) T) (envelope[T], error) {
	return readEnvelope(body, data, (*reader).pagedMeta)
}

func readEnvelope[T any](body []byte, data func(*reader) T, about func(*reader) meta) (envelope[T], error) {
	var e envelope[T]
	r := newReader(body)
	for name := range r.members("data", "meta") {
		switch name {
		case "data":
			e.Data = data(r)
		case "meta":
			e.Meta = about(r)
		}
	}
	return e, r.close()
}

func (r *reader) meta() meta {
	var m meta
	for range r.members("requestId") {
		m.RequestID = r.requestID()
	}
	return m
}

func (r *reader) pagedMeta() meta {
	var m meta
	for name := range r.members("requestId", "page") {
		switch name {
		case "requestId":
			m.RequestID = r.requestID()
		case "page":
			m.Page = new(r.page())
		}
	}
	return m
}

func (r *reader) requestID() string { return r.form(maxRequestID, isRequestID) }

// page reads the page member. It has a cursor if and only if there are more items (section 2.2).
func (r *reader) page() page {
	var p page
	for name := range r.members("hasMore", "nextCursor") {
		switch name {
		case "hasMore":
			p.HasMore = r.boolean()
		case "nextCursor":
			p.NextCursor = nullable(r, func(r *reader) string { return r.form(maxCursor, isCursor) })
		}
	}
	if p.HasMore != (p.NextCursor != nil) {
		r.refuse("must have a cursor if and only if there is more")
	}
	return p
}

// failure is an answer that is not a success, from the API or from the proxy itself.
type failure struct {
	status     int
	code       string
	message    string
	requestID  string // of the API's answer; empty: the failure is the proxy's own
	retryAfter string // the header's value; empty: none
}

func (f *failure) Error() string { return f.code }

// maxMessage is the length of the longest message, in code points.
const maxMessage = 2000

// isMessage reports whether a text of at most maxMessage code points is a message.
func isMessage(text string) bool { return text != "" && utf8.RuneCountInString(text) <= maxMessage }

// readFailure returns the projection of an error body. It drops the details.
func readFailure(body []byte) (*failure, error) {
	var f failure
	r := newReader(body)
	for name := range r.members("error", "meta") {
		switch name {
		case "error":
			f.code, f.message = r.failure()
		case "meta":
			f.requestID = r.meta().RequestID
		}
	}
	return &f, r.close()
}

func (r *reader) failure() (code, message string) {
	const needed = 2 // The details are the one member that may be absent (section 2.2).
	for name := range r.membersWith(needed, "code", "message", "details") {
		switch name {
		case "code":
			code = r.form(maxCode, isCode)
		case "message":
			message = r.form(maxMessage, isMessage)
		case "details":
			r.object()
		}
	}
	return code, message
}

type failureBody struct {
	Error failureError `json:"error"`
	Meta  meta         `json:"meta"`
}

type failureError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// encode writes JSON without HTML escapes: the JSON is not part of a page, so < > & need none.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // Strings and numbers always encode.
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
