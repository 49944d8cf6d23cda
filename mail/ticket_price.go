package mail

import (
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// ticketPrice is what an order's admissions of one tier and one price cost.
type ticketPrice struct {
	Quantity int
	Tier     string
	Each     string // empty: that of one admission is the sum, or free
	Sum      string
}

// pricesOf returns the prices of an order's lines, in their order.
func pricesOf(lines []ticketing.OrderLine) []ticketPrice {
	type kind struct {
		tier  string
		price money.Amount
	}
	var kinds []kind
	quantities := make(map[kind]int)
	for _, line := range lines {
		k := kind{line.Tier, line.UnitPrice}
		if quantities[k] == 0 {
			kinds = append(kinds, k)
		}
		quantities[k]++
	}
	prices := make([]ticketPrice, 0, len(kinds))
	for _, k := range kinds {
		n := quantities[k]
		// An order's gross is within the bounds of an amount, so the sum of a part of it is, too.
		sum, _ := k.price.Times(n)
		price := ticketPrice{Quantity: n, Tier: tierName(k.tier), Sum: formatPrice(sum)}
		if n > 1 && k.price != 0 {
			price.Each = formatPrice(k.price)
		}
		prices = append(prices, price)
	}
	return prices
}

// formatPrice returns an amount as buyers read it: "NGN 1,234,567.00", and "Free" for nothing.
func formatPrice(amount money.Amount) string {
	if amount == 0 {
		return "Free"
	}
	whole, kobo, _ := strings.Cut(amount.String(), ".")
	digits := strings.TrimPrefix(whole, "-")
	sign := whole[:len(whole)-len(digits)]
	var grouped strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			grouped.WriteByte(',')
		}
		grouped.WriteRune(digit)
	}
	return money.Currency + " " + sign + grouped.String() + "." + kobo
}

// tierName returns a tier as buyers read it. The presets of the contract (section 2.4), which are spelled as constants,
// become words. All others are shown as the company wrote them.
func tierName(tier string) string {
	switch tier {
	case "GENERAL_ADMISSION":
		return "General admission"
	case "EARLY_BIRD":
		return "Early bird"
	case "REGULAR":
		return "Regular"
	case "STUDENT":
		return "Student"
	}
	return clean(tier)
}
