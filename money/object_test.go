package money_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/money"
)

func TestMarshalJSONIsTheMoneyObject(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		amount money.Amount
		want   string
	}{
		{name: "zero", amount: 0, want: `{"amount":"0.00","currency":"NGN"}`},
		{name: "twelve naira", amount: 1200, want: `{"amount":"12.00","currency":"NGN"}`},
		{name: "negative", amount: -5, want: `{"amount":"-0.05","currency":"NGN"}`},
		{name: "largest", amount: money.MaxBalance, want: `{"amount":"999999999999999.99","currency":"NGN"}`},
		{name: "lowest integer", amount: math.MinInt64, want: `{"amount":"-92233720368547758.08","currency":"NGN"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got, err := json.Marshal(struct {
				Price *money.Amount `json:"price"`
				Total money.Amount  `json:"total"`
			}{&test.amount, test.amount})
			is.NoErr(err)
			is.Equal(string(got), `{"price":`+test.want+`,"total":`+test.want+`}`)
			is.Equal(string(test.amount.AppendJSON([]byte("x"))), "x"+test.want)
		})
	}
}

// TestAppendJSONDoesNotAllocate is not parallel, because counting
// allocations needs the process for itself.
func TestAppendJSONDoesNotAllocate(t *testing.T) {
	is := is.New(t)
	buffer := make([]byte, 0, 64)
	is.Equal(testing.AllocsPerRun(100, func() {
		buffer = money.MaxBalance.AppendJSON(buffer[:0])
	}), 0.0)
}

func TestUnmarshalJSONAcceptsOnlyMoneyObjects(t *testing.T) {
	t.Parallel()
	const before = money.Amount(42)
	tests := []struct {
		name   string
		input  string
		want   money.Amount
		refuse bool
	}{
		{name: "zero", input: `{"amount":"0.00","currency":"NGN"}`, want: 0},
		{name: "negative", input: `{"amount":"-0.05","currency":"NGN"}`, want: -5},
		{name: "15 digits", input: `{"amount":"999999999999999.99","currency":"NGN"}`, want: money.MaxBalance},
		{name: "minus 15 digits", input: `{"amount":"-999999999999999.99","currency":"NGN"}`, want: -money.MaxBalance},
		{name: "members in another order", input: `{"currency":"NGN","amount":"12.34"}`, want: 1234},
		{name: "spaces between tokens", input: " {\n\t\"amount\" : \"12.34\" , \"currency\" : \"NGN\" }\n", want: 1234},
		{name: "escaped characters", input: `{"amo\u0075nt":"12\u002e34","currency":"\u004eGN"}`, want: 1234},
		{name: "unknown member", input: `{"amount":"12.00","currency":"NGN","minor":1200}`, want: 1200},
		{
			name:  "unknown members before",
			input: `{"of":{"amount":"1.00","a":[{}]},"Amount":null,"amount":"12.00","currency":"NGN"}`, want: 1200,
		},

		{name: "16 digits", input: `{"amount":"1000000000000000.00","currency":"NGN"}`, refuse: true},
		{name: "minus 16 digits", input: `{"amount":"-1000000000000000.00","currency":"NGN"}`, refuse: true},
		{name: "no decimals", input: `{"amount":"12","currency":"NGN"}`, refuse: true},
		{name: "one decimal", input: `{"amount":"12.3","currency":"NGN"}`, refuse: true},
		{name: "three decimals", input: `{"amount":"12.340","currency":"NGN"}`, refuse: true},
		{name: "minus zero", input: `{"amount":"-0.00","currency":"NGN"}`, refuse: true},
		{name: "two signs", input: `{"amount":"--1.00","currency":"NGN"}`, refuse: true},
		{name: "plus", input: `{"amount":"+1.00","currency":"NGN"}`, refuse: true},
		{name: "leading zero", input: `{"amount":"01.00","currency":"NGN"}`, refuse: true},
		{name: "exponent", input: `{"amount":"1e2","currency":"NGN"}`, refuse: true},
		{name: "space within the amount", input: `{"amount":" 1.00","currency":"NGN"}`, refuse: true},
		{name: "empty amount", input: `{"amount":"","currency":"NGN"}`, refuse: true},
		{name: "invalid UTF-8", input: "{\"amount\":\"1.00\xff\",\"currency\":\"NGN\"}", refuse: true},
		{name: "amount a number", input: `{"amount":12.00,"currency":"NGN"}`, refuse: true},
		{name: "amount null", input: `{"amount":null,"currency":"NGN"}`, refuse: true},
		{name: "amount absent", input: `{"currency":"NGN"}`, refuse: true},
		{name: "amount an object", input: `{"amount":{"amount":"1.00"},"currency":"NGN"}`, refuse: true},
		{name: "currency absent", input: `{"amount":"12.00"}`, refuse: true},
		{name: "currency null", input: `{"amount":"12.00","currency":null}`, refuse: true},
		{name: "currency of another country", input: `{"amount":"12.00","currency":"USD"}`, refuse: true},
		{name: "currency in lower case", input: `{"amount":"12.00","currency":"ngn"}`, refuse: true},
		{name: "currency empty", input: `{"amount":"12.00","currency":""}`, refuse: true},
		{name: "unknown member for a known one", input: `{"sum":"12.00","currency":"NGN"}`, refuse: true},
		{name: "name in another case", input: `{"Amount":"12.00","currency":"NGN"}`, refuse: true},
		{name: "amount twice", input: `{"amount":"12.00","amount":"12.00"}`, refuse: true},
		{name: "amount twice with a currency", input: `{"amount":"1.00","amount":"12.00","currency":"NGN"}`, refuse: true},
		{
			name: "amount twice around another", input: `{"amount":"1.00","minor":1,"amount":"12.00","currency":"NGN"}`,
			refuse: true,
		},
		{name: "unknown member without a value", input: `{"amount":"12.00","currency":"NGN","minor":}`, refuse: true},
		{
			name:  "deep nesting in an unknown member",
			input: `{"amount":"12.00","currency":"NGN","minor":` + strings.Repeat(`[`, 20_000), refuse: true,
		},
		{name: "currency twice", input: `{"currency":"USD","amount":"12.00","currency":"NGN"}`, refuse: true},
		{name: "empty object", input: `{}`, refuse: true},
		{name: "null", input: `null`, refuse: true},
		{name: "string", input: `"12.00"`, refuse: true},
		{name: "number", input: `12`, refuse: true},
		{name: "array", input: `["amount","12.00","currency","NGN"]`, refuse: true},
		{name: "nothing", input: ``, refuse: true},
		{name: "trailing comma", input: `{"amount":"12.00","currency":"NGN",}`, refuse: true},
		{name: "missing comma", input: `{"amount":"12.00" "currency":"NGN"}`, refuse: true},
		{name: "comma for colon", input: `{"amount","12.00","currency","NGN"}`, refuse: true},
		{name: "unfinished", input: `{"amount":"12.00","currency":"NGN"`, refuse: true},
		{name: "unfinished third member", input: `{"amount":"12.00","currency":"NGN","more"`, refuse: true},
		{name: "trailing data", input: `{"amount":"12.00","currency":"NGN"}{}`, refuse: true},
		{name: "trailing brace", input: `{"amount":"12.00","currency":"NGN"}}`, refuse: true},
		{name: "trailing letter", input: `{"amount":"12.00","currency":"NGN"}x`, refuse: true},
		{name: "deep nesting", input: strings.Repeat(`{"amount":`, 10_000), refuse: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got := before
			err := got.UnmarshalJSON([]byte(test.input))
			is.Equal(err != nil, test.refuse)
			if test.refuse {
				is.True(errors.Is(err, money.ErrObject))
				is.Equal(got, before) // A refused object leaves the amount unchanged.
				return
			}
			is.Equal(got, test.want)
		})
	}
}

// A null for a required money member is refused, and a null for a nullable
// member is read as nil.
func TestNullMoneyNeedsAPointer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var resource struct {
		Total     money.Amount  `json:"total"`
		UnitPrice *money.Amount `json:"unitPrice"`
	}
	is.NoErr(json.Unmarshal([]byte(`{"unitPrice":null}`), &resource))
	is.Equal(resource.UnitPrice, nil)
	is.True(errors.Is(json.Unmarshal([]byte(`{"total":null}`), &resource), money.ErrObject))
}

func TestUnmarshalJSONIsTheInverseOfMarshalJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		amount := amountWithin().Draw(t, "amount")
		object, err := json.Marshal(amount)
		is.NoErr(err)
		var got money.Amount
		is.NoErr(json.Unmarshal(object, &got))
		is.Equal(got, amount)
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"amount":"12.00","currency":"NGN"}`,
		`{ "currency" : "NGN" , "amount" : "-999999999999999.99" }`,
		`{"amount":"12.00","currency":"NGN","amount":"1.00"}`,
		`{"amount":12,"currency":"NGN"}`,
		`{"minor":{"a":[1]},"amount":"12.00","currency":"NGN"}`,
		`{"amount":"-0.00","currency":"NGN"}`,
		`null`, `"12.00"`, `{`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		is := is.New(t)
		var amount money.Amount
		if amount.UnmarshalJSON(input) != nil {
			is.Equal(amount, money.Amount(0))
			return
		}
		is.True(amount >= -money.MaxBalance && amount <= money.MaxBalance)
		var members map[string]any
		is.NoErr(json.Unmarshal(input, &members))
		is.Equal(members["amount"], amount.String())
		is.Equal(members["currency"], "NGN")

		var again money.Amount
		is.NoErr(again.UnmarshalJSON(amount.AppendJSON(nil)))
		is.Equal(again, amount)
	})
}
