package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

const contentType = "application/json; charset=utf-8"

// result is a success: a resource, or a list with or without a page.
type result struct {
	data any
	page *page
}

type page struct {
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"`
}

// one returns the result of an operation that returns a resource.
func one[T any](resource T, err error) (result, error) {
	return result{data: resource}, err
}

// list returns the result of an operation that returns a list without pages.
func list[T any](items []T, err error) (result, error) {
	if items == nil {
		items = []T{} // An empty list is [], not null.
	}
	return result{data: items}, err
}

// paged returns the result of an operation that returns a page of a list.
func paged[T any](found ticketing.Page[T], err error) (result, error) {
	res, err := list(found.Items, err)
	res.page = &page{HasMore: found.HasMore}
	if found.HasMore {
		res.page.NextCursor = &found.NextCursor
	}
	return res, err
}

type meta struct {
	RequestID string `json:"requestId"`
	Page      *page  `json:"page,omitempty"`
}

type success struct {
	Data any  `json:"data"`
	Meta meta `json:"meta"`
}

type failure struct {
	Error failureError `json:"error"`
	Meta  meta         `json:"meta"`
}

type failureError struct {
	Code    ticketing.Code  `json:"code"`
	Message string          `json:"message"`
	Details *failureDetails `json:"details,omitempty"`
}

type failureDetails struct {
	Violations []ticketing.Violation `json:"violations"`
}

func encodeResult(res result, requestID string) ([]byte, error) {
	of := meta{RequestID: requestID, Page: res.page}
	b, known, err := appendData([]byte(`{"data":`), res.data)
	if !known {
		return encode(success{Data: res.data, Meta: of})
	}
	encoded, metaErr := encode(of)
	if err := errors.Join(err, metaErr); err != nil {
		return nil, err
	}
	b = append(append(b, `,"meta":`...), encoded...)
	return append(b, '}'), nil
}

func encodeError(refusal *ticketing.Error, requestID string) []byte {
	body := failure{
		Error: failureError{Code: refusal.Code, Message: refusal.Message},
		Meta:  meta{RequestID: requestID},
	}
	if n := len(refusal.Violations); n > 0 {
		body.Error.Details = &failureDetails{Violations: refusal.Violations[:min(n, strictjson.MaxViolations)]}
	}
	encoded, err := encode(body)
	if err != nil {
		panic(err) // Strings always encode.
	}
	return encoded
}

// encode writes JSON without HTML escapes: the JSON is not part of a page, so < > & need none.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("httpapi: encode a response: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
