package console_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/console"
)

// TestAxisHasRoundValues checks that the values of an axis are few, round, evenly spaced and not below the highest bar.
func TestAxisHasRoundValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		highest int64
		money   bool
		want    string
	}{
		{name: "one ticket", highest: 1, want: "1 0"},
		{name: "a few tickets", highest: 3, want: "3 2 1 0"},
		{name: "between steps", highest: 37, want: "40 30 20 10 0"},
		{name: "just above a step", highest: 101, want: "150 100 50 0"},
		{name: "thousands", highest: 4_900, want: "5,000 4,000 3,000 2,000 1,000 0"},
		{name: "one kobo", highest: 1, money: true, want: "₦1 ₦0"},
		{name: "naira", highest: 450_00, money: true, want: "₦500 ₦400 ₦300 ₦200 ₦100 ₦0"},
		{name: "around a thousand", highest: 1_400_00, money: true, want: "₦1.5k ₦1k ₦500 ₦0"},
		{name: "millions", highest: 7_100_000_00, money: true, want: "₦8M ₦6M ₦4M ₦2M ₦0"},
		{name: "the most", highest: math.MaxInt64 / 4, money: true, want: "₦25000T ₦20000T ₦15000T ₦10000T ₦5000T ₦0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is.New(t).Equal(strings.Join(console.AxisValues(tt.highest, tt.money), " "), tt.want)
		})
	}
}

// TestAxisNamesThreeTimes checks which intervals of a period an axis names.
func TestAxisNamesThreeTimes(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.November, 24, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		last   time.Time
		hourly bool
		want   string
	}{
		{name: "one day", last: first, want: "24 Nov"},
		{name: "two days", last: first.AddDate(0, 0, 1), want: "24 Nov|25 Nov"},
		{name: "a week", last: first.AddDate(0, 0, 6), want: "24 Nov|27 Nov|30 Nov"},
		{name: "another year", last: first.AddDate(0, 0, 60), want: "24 Nov 2026|24 Dec 2026|23 Jan 2027"},
		{name: "hours", last: first, hourly: true, want: "24 Nov 00:00|24 Nov 11:00|24 Nov 23:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is.New(t).Equal(strings.Join(console.AxisTimes(first, tt.last, tt.hourly), "|"), tt.want)
		})
	}
}
