package strictjson_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/strictjson"
)

// basket is what the tests read.
type basket struct {
	Note  string
	Lines []line
}

type line struct {
	Tier     string
	Quantity int
	Free     bool
}

func read(raw []byte) (basket, []string) {
	var r strictjson.Reader
	body := r.Object(raw)
	b := basket{
		Note: strictjson.Optional(body, "note", strictjson.Text),
		Lines: strictjson.Required(body, "lines", strictjson.Items(strictjson.Fields(func(o *strictjson.Object) line {
			return line{
				Tier:     strictjson.Required(o, "tier", strictjson.Text),
				Quantity: strictjson.Required(o, "quantity", strictjson.Integer),
				Free:     strictjson.Present(o, "free", strictjson.Boolean),
			}
		}))),
	}
	return b, r.Violations()
}

// Every violation is reported, at its path.
func TestViolations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		body string
		want []string
	}{
		{body: ` {"lines":[{"tier":"VIP","quantity":2,"free":true}],"note":null} `},
		{`[]`, []string{"body: must be an object"}},
		{`{}`, []string{"lines: is required"}},
		{`{"lines":[]} {}`, []string{"body: must be one JSON value, with nothing behind it"}},
		{`{"lines":[{"tier":"VIP"`, []string{"lines[0]: is not valid JSON in UTF-8, at byte 23"}},
		{`{"lines":[],"lines":[]}`, []string{"lines: must be there once"}},
		{
			`{"lines":[],"Lines":[],"__proto__":{}}`,
			[]string{"Lines: is not a known member", "__proto__: is not a known member"},
		},
		{`{"lines":[null]}`, []string{"lines[0]: must not be null"}},
		{
			`{"lines":[{"tier":"A","quantity":1.0},{"tier":null,"quantity":"1","url":""}],"note":"\u0000"}`,
			[]string{
				"note: must not contain U+0000", "lines[0].quantity: must be an integer, without fraction and exponent",
				"lines[1].tier: must not be null", "lines[1].quantity: must be an integer, without fraction and exponent",
				"lines[1].url: is not a known member",
			},
		},
		{"{\"lines\":[],\"note\":\"\xff\"}", []string{"note: is not valid JSON in UTF-8, at byte 20"}},
		{`{"lines":[],"note":"\ud800"}`, []string{"note: is not valid JSON in UTF-8, at byte 20"}},
	} {
		t.Run(test.body, func(t *testing.T) {
			t.Parallel()
			_, violations := read([]byte(test.body))
			if !slices.Equal(violations, test.want) {
				t.Errorf("got %q\nwant %q", violations, test.want)
			}
		})
	}
}

// However much is wrong, the list of violations is bounded.
func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	var members strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `,"x%d":0`, i)
	}
	_, violations := read([]byte(`{"lines":[]` + members.String() + `}`))
	is.New(t).Equal(len(violations), strictjson.MaxViolations)
}

// What is read without a violation is what the standard library reads.
func FuzzObject(f *testing.F) {
	for _, body := range []string{
		`{"lines":[{"tier":"VIP","quantity":2,"free":true}],"note":"x"}`, `{"note":null,"lines":[]}`, `{"lines":[{}]}`, `{`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, violations := read(raw)
		if len(violations) > 0 {
			return
		}
		var want basket
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if got.Note != want.Note || !slices.Equal(got.Lines, want.Lines) {
			t.Fatalf("%q is %+v, want %+v", raw, got, want)
		}
	})
}
