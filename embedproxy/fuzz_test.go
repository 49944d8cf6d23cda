package embedproxy_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/floatgate/ticketing/embedproxy"
)

// FuzzAnswer uses any body as an answer of the API. The browser gets a projection with only the members of its schema,
// a failure of the API with only code and message, or 502 with nothing of the body.
func FuzzAnswer(f *testing.F) {
	for index, a := range answers {
		f.Add(uint8(index), false, []byte(a.body))
		f.Add(uint8(index), true, []byte(goodRefusal))
	}
	for _, test := range outOfRange {
		for index, a := range answers {
			if a.name == test.answer && len(test.values[0]) < 1000 {
				f.Add(uint8(index), false, []byte(replaced(a.body, test.path, test.values[0])))
			}
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, refused bool, body []byte) {
		a := answers[int(index)%len(answers)]
		api := &script{}
		api.on(a.route, func(w http.ResponseWriter, _ *http.Request) {
			status := a.status
			if refused {
				status = 409
			}
			sendJSON(w, status, string(body))
		})
		got := serve(t, handler(t, embedproxy.Local(api)), []byte(a.post))
		got.shaped(t)
		if got.status != 502 && !jsontext.Value(body).IsValid() {
			t.Fatalf("status %d for what is no JSON: %s", got.status, body)
		}
		switch {
		case got.status == 502 && strings.Contains(got.body, "upstream-1"):
			t.Fatalf("a part of the body is in %s", got.body)
		case refused && got.status != 409 && got.status != 502,
			!refused && got.status != a.status && got.status != 502 && got.status != 404 && a.name != "event":
			t.Fatalf("status %d for %s", got.status, body)
		}
	})
}

// shaped checks that an answer has no other members than the browser's schemas.
func (a answer) shaped(tb testing.TB) {
	tb.Helper()
	known := map[string]bool{}
	for name := range strings.FieldsSeq("data meta error code message requestId page hasMore nextCursor id object title " +
		"description status schedule date startsAt endsAt timezone location name venue imageUrl organizerName category " +
		"slug ticketCategories tier availableQuantity totalAdmissions unitPrice amount currency eventId lines quantity " +
		"subtotal availableAtPrice total quotedAt gross branding brandName logoUrl primaryColor accentColor checkoutFooter " +
		"admissionId confirmedAt") {
		known[name] = true
	}
	var check func(value any)
	check = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				if !known[name] {
					tb.Fatalf("%q is in the answer %s", name, a.body)
				}
				check(inner)
			}
		case []any:
			for _, inner := range value {
				check(inner)
			}
		}
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		tb.Fatalf("%v: %s", err, a.body)
	}
	check(value)
}
