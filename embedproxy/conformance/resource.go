package conformance

// object is a JSON object.
type object = map[string]any

// list is a JSON array.
type list = []any

// The ids of the sample resources.
const (
	eventID     = "7b0c8a52-5d0e-4c53-9d55-0a4f0d7f2c11"
	categoryID  = "1f7d8f0a-3f66-4a8e-8f0c-2a9c1b6c7d22"
	orderID     = "c2d9a1de-8a51-4d5b-a5b8-6a4f7d2e9b33"
	rateID      = "0e4b6c1f-9c2d-4f7a-b1e3-5d8a7c6b4f44"
	lineID      = "5a9e3b7c-1d4f-4e2a-8c6b-9f0d1e2a3b55"
	admissionID = "8d1f2c3b-4a5e-4b6c-9d7e-0f1a2b3c4d66"
)

// Marks in what the upstream returns. The checks look for them in answers.
const (
	// mark is in texts that a browser may see, but not in the answer to a rejected body.
	mark = "zq7canary"

	// privateMark is in what no browser may see.
	privateMark = "zq7private"

	// markPrefix begins all marks, and the name of an unknown member.
	markPrefix = "zq7"
)

func money(amount string) object { return object{"amount": amount, "currency": "NGN"} }

// sampleEvent returns an event in which nothing is null.
func sampleEvent() object {
	return object{
		"id": eventID, "object": "event", "title": "Lagos Nights " + mark, "description": "Music until late. " + mark,
		"status":   "PUBLISHED",
		"schedule": object{"date": "2031-05-17", "startsAt": "19:00", "endsAt": "23:30", "timezone": "Africa/Lagos"},
		"location": object{"name": "Eko Hall", "venue": "Main floor"},
		"imageUrl": "https://images.example.com/nights.jpg?size=large", "organizerName": "Lagos Live",
		"category":         object{"id": categoryID, "name": "Concerts", "slug": "concerts"},
		"ticketCategories": list{"GENERAL_ADMISSION", "VIP"},
		"createdAt":        "2031-01-02T03:04:05.678Z", "updatedAt": "2031-01-03T03:04:05.678Z",
	}
}

// sampleTiers returns the inventory of the event.
func sampleTiers() list {
	return list{
		object{
			"object": "inventory_tier", "tier": "GENERAL_ADMISSION", "status": "AVAILABLE",
			"availableQuantity": 40, "totalAdmissions": 100, "unitPrice": money("5000.00"),
		},
		object{
			"object": "inventory_tier", "tier": "VIP", "status": "SOLD_OUT",
			"availableQuantity": 0, "totalAdmissions": 10, "unitPrice": nil,
		},
	}
}

func sampleQuote() object {
	return object{
		"object": "pricing_quote", "eventId": eventID, "currency": "NGN",
		"lines": list{
			object{
				"tier": "GENERAL_ADMISSION", "quantity": 2, "unitPrice": money("5000.00"),
				"subtotal": money("10000.00"), "availableAtPrice": 40,
			},
			object{
				"tier": "VIP", "quantity": 1, "unitPrice": money("15000.50"),
				"subtotal": money("15000.50"), "availableAtPrice": 3,
			},
		},
		"total": money("25000.50"), "quotedAt": "2031-02-03T04:05:06.789Z",
	}
}

func sampleOrder() object {
	return object{
		"id": orderID, "object": "order", "eventId": eventID, "status": "CONFIRMED",
		"gross": money("5000.00"), "floatDebited": money("5000.00"),
		"commission": object{
			"amount": money("125.00"),
			"rate":   object{"id": rateID, "value": "250", "unit": "BASIS_POINTS"},
		},
		"balances": object{
			"floatBefore": money("900000.00"), "floatAfter": money("895000.00"),
			"earningsBefore": money("10.00"), "earningsAfter": money("135.00"),
		},
		"buyer": object{
			"email": privateMark + "@example.com", "fullname": privateMark + " Obi", "phone": "+234" + privateMark,
		},
		"branding": object{
			"brandName": "Lagos Live " + mark, "logoUrl": "https://images.example.com/logo.png",
			"primaryColor": "#102030", "accentColor": "#A0B0C0", "checkoutFooter": "Doors at six. " + mark,
			"ticketFooter": privateMark, "emailFooter": privateMark, "supportEmail": privateMark + "@example.com",
			"emailMode": "SERVICE_SENDER",
		},
		"lines": list{object{
			"id": lineID, "admissionId": admissionID, "title": "Floor " + mark, "tier": "GENERAL_ADMISSION",
			"unitPrice": money("5000.00"),
		}},
		"confirmedAt": "2031-03-04T05:06:07.891Z", "createdAt": "2031-03-04T05:06:07.890Z",
	}
}

// single returns the envelope of a resource, or of a list without pages.
func single(data any) object {
	return object{"data": data, "meta": object{"requestId": idPlaceholder}}
}

// eventPage returns the envelope of events, with a next page.
func eventPage(events ...any) object {
	return object{"data": events, "meta": object{
		"requestId": idPlaceholder, "page": object{"hasMore": true, "nextCursor": "bmV4dF9wYWdl-1"},
	}}
}

// only returns a copy of an object with only these members.
func only(of object, names ...string) object {
	kept := object{}
	for _, name := range names {
		kept[name] = of[name]
	}
	return kept
}

// browserEvent returns what a browser may see of an event.
func browserEvent(event object) object {
	return only(event, "id", "object", "title", "description", "status", "schedule", "location", "imageUrl",
		"organizerName", "category", "ticketCategories")
}

// browserOrder returns what a browser may see of an order.
func browserOrder(order object) object {
	kept := only(order, "id", "object", "eventId", "status", "gross", "branding", "lines", "confirmedAt")
	branding, _ := order["branding"].(object)
	kept["branding"] = only(branding, "brandName", "logoUrl", "primaryColor", "accentColor", "checkoutFooter")
	return kept
}

// The payloads of the operations.

const (
	listCursor  = "c3RhcnQ_-9"
	checkoutKey = "conformance.basket:1"
)

func listPayload() object      { return object{"limit": 7, "cursor": listCursor} }
func inventoryPayload() object { return object{"eventId": eventID} }

func quotePayload() object {
	return object{"eventId": eventID, "lines": list{
		object{"tier": "GENERAL_ADMISSION", "quantity": 2}, object{"tier": "VIP", "quantity": 1},
	}}
}

func checkoutPayload() object {
	return object{
		"eventId": eventID,
		"buyer":   object{"email": "ada@example.com", "fullname": "Ada Obi", "phone": "+2348012345678"},
		"lines": list{
			object{"tier": "GENERAL_ADMISSION", "quantity": 1, "expectedUnitPrice": "5000.00", "currency": "NGN"},
		},
		"idempotencyKey": checkoutKey,
	}
}

// The operations.
const (
	opList      = "events.list"
	opInventory = "events.inventory"
	opQuote     = "pricing.quote"
	opCheckout  = "checkout.create"
)

// payloads returns a valid payload of each operation, in the order of the contract.
func payloads() []struct {
	operation string
	payload   object
} {
	return []struct {
		operation string
		payload   object
	}{
		{opList, listPayload()},
		{opInventory, inventoryPayload()},
		{opQuote, quotePayload()},
		{opCheckout, checkoutPayload()},
	}
}

// operation returns the body of an operation.
func operation(name string, payload any) []byte {
	return encode(object{"operation": name, "payload": payload})
}
