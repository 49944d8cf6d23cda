package widget_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// object is a JSON object.
type object = map[string]any

const jazz = "3f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c"

func naira(kobo int) object {
	return object{"amount": fmt.Sprintf("%d.%02d", kobo/100, kobo%100), "currency": "NGN"}
}

// event returns an event on sale.
func event(id, title string) object {
	return object{
		"id": id, "object": "event", "title": title, "status": "PUBLISHED",
		"description": "A night of highlife and jazz on the lagoon.\n\nDoors open an hour earlier. Bring a friend.",
		"schedule":    object{"date": "2030-12-24", "startsAt": "19:00", "endsAt": "02:00", "timezone": "Africa/Lagos"},
		"location":    object{"name": "Victoria Island, Lagos", "venue": "Eko Convention Centre"},
		"imageUrl":    "https://cdn.harmattan.example/" + id + ".jpg", "organizerName": "Harmattan Live",
		"category": nil, "ticketCategories": []string{"GENERAL_ADMISSION", "VIP"},
	}
}

func tier(name, status string, available, kobo int) object {
	t := object{
		"object": "inventory_tier", "tier": name, "status": status, "availableQuantity": available,
		"totalAdmissions": 1000, "unitPrice": nil,
	}
	if kobo >= 0 {
		t["unitPrice"] = naira(kobo)
	}
	return t
}

func envelope(data any) object { return object{"data": data, "meta": object{"requestId": "req-1"}} }

func eventPage(next any, events ...object) object {
	return object{
		"data": append([]object{}, events...),
		"meta": object{"requestId": "req-1", "page": object{"hasMore": next != nil, "nextCursor": next}},
	}
}

// prices of the tiers that the shop sells, in kobo.
func prices() map[string]int {
	return map[string]int{"GENERAL_ADMISSION": 500000, "VIP": 2500050, "STUDENT": 0}
}

func byTier(a, b line) int { return strings.Compare(a.Tier, b.Tier) }

// quote prices lines.
func quote(lines json.RawMessage, prices map[string]int) object {
	total := 0
	made := []object{}
	for _, line := range slices.SortedFunc(slices.Values(linesOf(lines)), byTier) {
		price := prices[line.Tier]
		total += price * line.Quantity
		made = append(made, object{
			"tier": line.Tier, "quantity": line.Quantity, "unitPrice": naira(price),
			"subtotal": naira(price * line.Quantity), "availableAtPrice": 100,
		})
	}
	return object{
		"object": "pricing_quote", "eventId": jazz, "currency": "NGN", "lines": made, "total": naira(total),
		"quotedAt": "2030-12-01T10:00:00.000Z",
	}
}

// order returns the order of a checkout.
func order(payload json.RawMessage) object {
	total := 0
	made := []object{}
	for _, line := range linesOf(payload) {
		for range line.Quantity {
			total += prices()[line.Tier]
			made = append(made, object{
				"id": fmt.Sprintf("00000000-0000-4000-8000-%012d", len(made)), "title": "Lagos Jazz Night",
				"admissionId": fmt.Sprintf("a1b2c3d4-e5f6-4a7b-8c9d-%012d", len(made)),
				"tier":        line.Tier, "unitPrice": naira(prices()[line.Tier]),
			})
		}
	}
	return object{
		"id": "9b1c2d3e-4f5a-4b6c-8d7e-8f9a0b1c2d3e", "object": "order", "eventId": jazz, "status": "CONFIRMED",
		"gross": naira(total), "lines": made, "confirmedAt": "2030-12-01T10:00:01.000Z",
		"branding": object{
			"brandName": "Harmattan at the time", "logoUrl": "https://cdn.harmattan.example/logo.png",
			"primaryColor": "#0F766E", "accentColor": "#F59E0B", "checkoutFooter": "Sold by Harmattan Live Ltd.",
		},
	}
}

// tiers are what the shop has in stock.
func tiers() []object {
	return []object{
		tier("EARLY_BIRD", "SOLD_OUT", 0, -1), tier("GENERAL_ADMISSION", "AVAILABLE", 800, 500000),
		tier("STUDENT", "AVAILABLE", 100, 0), tier("VIP", "AVAILABLE", 7, 2500050), tier("VVIP", "PAUSED", 0, 9000000),
	}
}

// sells returns what a shop answers that sells.
func sells(c call) any {
	switch c.Operation {
	case "events.list":
		return eventPage(nil, event(jazz, "Lagos Jazz Night"),
			event("4f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c", "Ọ̀ṣun Festival of Drums"),
			event("5f2b1c9a-5d4e-4f6a-8b7c-9d0e1f2a3b4c", "Comedy at the Marina"))
	case "events.inventory":
		return envelope(tiers())
	case "pricing.quote":
		return envelope(quote(c.Payload, prices()))
	}
	return envelope(order(c.Payload))
}

// brand is the brand of the page.
func brand() object {
	return object{
		"brandName": "Harmattan Live", "logoUrl": "https://cdn.harmattan.example/logo.png?v=2",
		"primaryColor": "#0F766E", "accentColor": "#F59E0B",
		"checkoutFooter": "Tickets are final. Harmattan Live Ltd, Lagos.",
	}
}
