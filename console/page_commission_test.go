package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/money"
)

const commissionPath = "/business/{companyId}/commission"

func TestCommissionWithoutARate(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	got := s.get(t, viewer, commissionPath)
	ok.Equal(got.StatusCode, http.StatusOK)
	ok.True(got.has("No rates scheduled"))
	ok.Equal(s.get(t, viewer, "/api/v2"+commissionPath).text, `{"data":{"inForce":null,`+
		`"gross":{"amount":"10000.00","currency":"NGN"},"earned":null,"rates":[]}}`+"\n")

	s.schedule(t, "2", money.Percent, s.clock.now().Add(time.Hour))
	text := words(s.get(t, viewer, commissionPath))
	ok.True(strings.Contains(text, "No rate is in force yet"))
	ok.True(strings.Contains(text, "Upcoming 2 % ₦200.00"))
}

// TestCommissionInForce checks 2.9, item 1: the latest rate whose effectiveFrom is not in the future holds, and of two
// with one time the one that was created later.
func TestCommissionInForce(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	start := s.clock.now()
	s.schedule(t, "9", money.Percent, start.Add(time.Hour))
	s.schedule(t, "5", money.Percent, start)
	s.schedule(t, "4", money.Percent, start) // at the same time, and later created
	s.schedule(t, "3", money.Percent, start.Add(-time.Hour))
	text := words(s.get(t, owner, commissionPath))
	ok.True(strings.Contains(text, "Current rate 4 %"))
	ok.True(strings.Contains(text, "Earned on a sale of ₦10,000.00 ₦400.00"))
	order := []string{"Upcoming 9 % ₦900.00", "In force 4 % ₦400.00", "Past 5 % ₦500.00", "Past 3 % ₦300.00"}
	for _, row := range order {
		_, rest, found := strings.Cut(text, row)
		if !found {
			t.Fatalf("%q is not there, or not in its place:\n%s", row, text)
		}
		text = rest
	}
	s.clock.advance(time.Hour)
	ok.True(strings.Contains(words(s.get(t, owner, commissionPath)), "Current rate 9 %"))
	ok.True(strings.Contains(words(s.get(t, owner, overviewPath)), "Commission rate 9 %"))
}

func TestCommissionInPercent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, tt := range []struct {
		value string
		unit  money.Unit
		want  string
	}{
		{"250", money.BasisPoints, "2.5 % ₦250.00"},
		{"5", money.BasisPoints, "0.05 % ₦5.00"},
		{"0.5", money.BasisPoints, "0.005 % ₦0.50"},
		{"10000", money.BasisPoints, "100 % ₦10,000.00"},
		{"0.025", money.Fraction, "2.5 % ₦250.00"},
		{"1", money.Fraction, "100 % ₦10,000.00"},
		{"0.1", money.Fraction, "10 % ₦1,000.00"},
		{"0", money.Percent, "0 % ₦0.00"},
		{"12.75", money.Percent, "12.75 % ₦1,275.00"},
	} {
		s.clock.advance(time.Minute)
		s.schedule(t, tt.value, tt.unit, time.Time{})
		text := words(s.get(t, owner, commissionPath))
		if !strings.Contains(text, "In force "+tt.want) {
			t.Errorf("%s %s: want %q:\n%s", tt.value, tt.unit, tt.want, text)
		}
	}
	ok.Equal(s.post(t, owner, commissionPath).StatusCode, http.StatusMethodNotAllowed) // no company sets its own
}
