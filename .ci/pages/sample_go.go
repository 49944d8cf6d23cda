package main

import "strings"

// goCalls are the calls of package client, by operation. Each is the body of a program that has api and ctx, and prints
// what it got.
var goCalls = map[string]string{
	"createEvent": `	event, err := api.CreateEvent(ctx, "event-1001", ticketing.CreateEventParams{
		Title:            "Night Market",
		Description:      "Food, crafts and music.\nDoors open at five.",
		Date:             "2026-12-12",
		StartsAt:         "18:00",
		EndsAt:           "02:00",
		Timezone:         "Africa/Lagos",
		Location:         "Lagos",
		Venue:            "Harbour Hall",
		ImageURL:         "https://images.example.com/night-market.png",
		OrganizerName:    "Adire Concerts",
		TicketCategories: []string{"Balcony"},
		Status:           ticketing.EventDraft,
	})
	CHECK
	fmt.Println(event.ID)
`,
	"listEvents": `	for event, err := range api.Events(ctx, ticketing.EventFilter{Status: ticketing.EventPublished}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.ID, event.Title)
	}
`,
	"getEvent": `	event, err := api.GetEvent(ctx, uuid.MustParse("EVENT"))
	CHECK
	fmt.Println(event.Title, event.Status)
`,
	"updateEvent": `	event, err := api.UpdateEvent(ctx, uuid.MustParse("EVENT"), ticketing.UpdateEventParams{
		Venue:  new("Main Hall"),
		Status: new(ticketing.EventPublished),
	})
	CHECK
	fmt.Println(event.Status)
`,
	"cancelEvent": `	event, err := api.CancelEvent(ctx, uuid.MustParse("EVENT"))
	CHECK
	fmt.Println(event.Status)
`,
	"listInventory": `	tiers, err := api.ListInventory(ctx, uuid.MustParse("EVENT"))
	CHECK
	for _, tier := range tiers {
		fmt.Println(tier.Tier, tier.AvailableQuantity)
	}
`,
	"createInventory": `	tier, err := api.CreateInventory(ctx, uuid.MustParse("EVENT"), "stock-1001",
		ticketing.CreateInventoryParams{
			Tier:      "VIP",
			Title:     "VIP, with dinner",
			UnitPrice: 15_000_00, // in kobo
			Currency:  "NGN",
			Quantity:  100,
			Status:    ticketing.InventoryAvailable,
		})
	CHECK
	fmt.Println(tier.AvailableQuantity)
`,
	"updateInventory": `	tier, err := api.UpdateInventory(ctx, uuid.MustParse("EVENT"), "VIP", ticketing.UpdateInventoryParams{
		UnitPrice: new(money.Amount(17_500_00)), // in kobo
		Currency:  new("NGN"),
		IsFree:    new(false),
	})
	CHECK
	fmt.Println(tier.UnitPrice)
`,
	"cancelInventory": `	tier, err := api.CancelInventory(ctx, uuid.MustParse("EVENT"), "VIP")
	CHECK
	fmt.Println(tier.Status)
`,
	"createQuote": `	quote, err := api.Quote(ctx, ticketing.QuoteParams{
		EventID: uuid.MustParse("EVENT"),
		Lines: []ticketing.QuoteLineParams{
			{Tier: "VIP", Quantity: 2},
			{Tier: "GENERAL_ADMISSION", Quantity: 1},
		},
	})
	CHECK
	fmt.Println(quote.Total)
`,
	"createCheckout": `	order, err := api.Checkout(ctx, "cart-1001", ticketing.CheckoutParams{
		EventID: uuid.MustParse("EVENT"),
		Buyer:   ticketing.BuyerParams{Email: "ada@example.com", Fullname: "Ada Obi"},
		Lines: []ticketing.CheckoutLineParams{
			{Tier: "VIP", Quantity: 2, ExpectedUnitPrice: 17_500_00, Currency: "NGN"}, // in kobo
			{Tier: "GENERAL_ADMISSION", Quantity: 1, ExpectedUnitPrice: 5_000_00, Currency: "NGN"},
		},
	})
	CHECK
	fmt.Println(order.ID)
`,
	"listOrders": `	filter := ticketing.OrderFilter{EventID: uuid.MustParse("EVENT")}
	for order, err := range api.Orders(ctx, filter) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(order.ID, order.Gross)
	}
`,
	"getOrder": `	order, err := api.GetOrder(ctx, uuid.MustParse("61278539-2138-402d-bc4f-df02b19210ea"))
	CHECK
	fmt.Println(order.Status)
`,
	"validateAdmission": `	eventID := uuid.MustParse("EVENT")
	admissionID := uuid.MustParse("59a28c48-7ce4-448f-af36-7192eefea57e")
	validation, err := api.ValidateAdmission(ctx, eventID, admissionID, "scan-1001",
		ticketing.ValidateParams{Location: "Gate 2"})
	CHECK
	fmt.Println(validation.Outcome)
`,
}

// goSample returns a whole program.
func goSample(c call) string {
	body := strings.NewReplacer(
		"CHECK", "if err != nil {\n\t\tlog.Fatal(err)\n\t}", "EVENT", "8d72c79c-55b2-4673-8bed-81895646bf1c",
	).Replace(goCalls[c.id])
	imports := []string{`"context"`, `"fmt"`, `"log"`, ""}
	for _, other := range []struct{ used, path string }{
		{"uuid.", `"github.com/google/uuid"` + "\n"}, {"ticketing.", `"github.com/floatgate/ticketing"`},
		{"", `"github.com/floatgate/ticketing/client"`}, {"money.", `"github.com/floatgate/ticketing/money"`},
	} {
		if strings.Contains(body, other.used) {
			imports = append(imports, other.path)
		}
	}
	listed := strings.ReplaceAll("\t"+strings.ReplaceAll(strings.Join(imports, "\n"), "\n", "\n\t"), "\n\t\n", "\n\n")
	return "package main\n\nimport (\n" + listed + "\n)\n\nfunc main() {\n" +
		"\tctx := context.Background()\n" +
		"\tapi, err := client.New(\"" + sampleBase + "\", \"" + sampleKey + "\", nil)\n" +
		"\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n" + body + "}\n"
}
