package money_test

import (
	"testing"

	"github.com/floatgate/ticketing/money"
)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := money.Parse("123456.78"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	b.ReportAllocs()
	buffer := make([]byte, 0, 64)
	for b.Loop() {
		buffer = money.Amount(12345678).AppendJSON(buffer[:0])
	}
}

// BenchmarkOf has an everyday gross, whose product fits 64 bits, and the
// largest one with the longest rate, whose product needs big integers.
func BenchmarkOf(b *testing.B) {
	cases := []struct {
		name  string
		value string
		unit  money.Unit
		gross money.Amount
	}{
		{name: "everyday", value: "250", unit: money.BasisPoints, gross: 2_500_000},
		{name: "longest", value: "9999.999999999999", unit: money.BasisPoints, gross: money.MaxBalance},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			rate, err := money.ParseRate(c.value, c.unit)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				rate.Of(c.gross)
			}
		})
	}
}
