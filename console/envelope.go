package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/floatgate/ticketing"
)

// envelope is a success of /api/v2.
type envelope struct {
	Data any       `json:"data"`
	Page *pageMeta `json:"page,omitempty"`
}

type pageMeta struct {
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"`
}

type refusalBody struct {
	Error refusalError `json:"error"`
}

type refusalError struct {
	Code       ticketing.Code        `json:"code"`
	Message    string                `json:"message"`
	Violations []ticketing.Violation `json:"violations,omitempty"`
}

// encodeData returns the data of a page as a JSON response.
func encodeData(shown view) (answer, error) {
	e := envelope{Data: listOrData(shown.data)}
	if shown.paged {
		e.Page = &pageMeta{HasMore: shown.next != ""}
		if shown.next != "" {
			e.Page.NextCursor = &shown.next
		}
	}
	body, err := encode(e)
	return answer{status: http.StatusOK, contentType: jsonType, body: body}, err
}

// listOrData makes a list without items an empty list rather than null.
func listOrData(data any) any {
	if v := reflect.ValueOf(data); v.Kind() == reflect.Slice && v.IsNil() {
		return []struct{}{}
	}
	return data
}

// encodeOutcome returns the outcome of an act as a JSON response.
func encodeOutcome(done outcome) (answer, error) {
	body, err := encode(envelope{Data: listOrData(done.data)})
	return answer{status: http.StatusOK, contentType: jsonType, body: body, once: true}, err
}

func encodeRefusal(refused *ticketing.Error) []byte {
	body, err := encode(refusalBody{refusalError{refused.Code, refused.Message, refused.Violations}})
	if err != nil {
		panic(err) // Texts always encode.
	}
	return body
}

// encode writes JSON without HTML escapes: it is never part of a page, and nosniff keeps browsers from reading it as
// one.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

func encodeIndented(v any) ([]byte, error) {
	text, err := encode(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, bytes.TrimSpace(text), "", "  ")
	return b.Bytes(), err
}
