package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/contracttest"
)

// TestOrganizerSellsOutFiveThousandTickets leads an event of 5,000 tickets in two categories and three prices from the
// list of events to a payout, in a browser. A shop sells all of them and a gate scans 500, by the public API. Staff
// refund an order, whose tickets are sold again.
func TestOrganizerSellsOutFiveThousandTickets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	browser := browsertest.New(t)
	ok, s := is.New(t), newShop(t)
	staff := s.travelAs(t, browser, chief, means{})
	staff.follow("Companies", s.books.Company.Name, "Commission", "Float")
	staff.unfold("Credit Float")
	staff.fill("Amount in naira", "50,000,000.00")
	staff.fill("Reference of the payment", "GTB-2026-11-21-1")
	staff.press("button", "^Continue")
	staff.press("button", "^Credit ₦50,000,000.00")
	staff.sees("₦50,000,000.00 was credited.")

	v := s.travelAs(t, browser, owner, means{})
	v.follow("Events", "New event")
	for _, field := range [][2]string{
		{"Title", "Night of Fuji"},
		{"Day", "2027-10-31"},
		{"Start time", "20:00"},
		{"End time", "01:00"},
		{"Picture URL", "https://img.example.com/fuji.jpg"},
		{"Time zone", "Africa/Lagos"},
		{"Add ticket categories", "Balcony"},
	} {
		v.fill(field[0], field[1])
	}
	v.press("button", "^Create the event")
	id := v.Text(`location.pathname.split("/").pop()`)
	for i, batch := range [][3]string{
		{"Regular", "Early entry", "5,000.00"},
		{"Regular", "Early entry", "5,000.00"},
		{"Regular", "Entry", "7,500.00"},
		{"Regular", "Entry", "7,500.00"},
		{"Balcony", "Balcony", "20,000.00"},
	} {
		if i > 0 {
			v.unfold("Add tickets")
		}
		v.choose("Category", batch[0])
		v.fill("Title", batch[1])
		v.fill("Price in naira", batch[2])
		v.fill("Number of tickets", "1,000")
		v.press("button", "^Add the tickets")
		v.sees("The tickets were added.")
	}
	v.press("button", "^Publish the event")
	v.sees("Sold 0", "On sale 5,000", "Regular Available ₦5,000.00 to ₦7,500.00 0 4,000 0 4,000")

	// The shop sells everything while the page of the event is open.
	v.looks("Events", "Night of Fuji")
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Shop", ticketing.AllGrants())
	ok.NoErr(err)
	api := backend{t, contracttest.New(t.Error, s.Service, &httpapi.Config{RateLimit: -1}), key.Key}
	buy := func(tier, price string, orders int) (sold []soldOrder) {
		for range orders {
			status, text := api.call(http.MethodPost, "/checkouts", fmt.Sprintf(`{"eventId":%q,`+
				`"buyer":{"email":"ada@example.com"},"lines":[{"tier":%q,"quantity":50,"expectedUnitPrice":%q,`+
				`"currency":"NGN"}]}`, id, tier, price))
			ok.Equal(status, http.StatusCreated) // text
			var order struct{ Data soldOrder }
			decode(t, text, &order)
			sold = append(sold, order.Data)
		}
		return sold
	}
	sold := buy("REGULAR", "5000.00", 40)
	v.comes("Sold 2,000 On sale 3,000", "Events", "Night of Fuji")
	sold = append(sold, buy("REGULAR", "7500.00", 40)...)
	balcony := buy("Balcony", "20000.00", 20)
	v.comes("Sold 5,000 On sale 0", "Events", "Night of Fuji")
	v.sees("Regular Sold out – 4,000 0 0 4,000", "Balcony Sold out – 1,000 0 0 1,000")
	s.count(t)
	v.comes("Gross ₦45,000,000.00", "Events", "Night of Fuji")

	// The gate scans ten orders.
	for _, order := range sold[:10] {
		for _, line := range order.Lines {
			status, _ := api.call(http.MethodPost, "/events/"+id+"/admissions/"+line.AdmissionID+"/validate",
				`{"location":"Main gate"}`)
			ok.Equal(status, http.StatusOK)
		}
	}
	s.count(t)
	v.comes("Admitted 500", "Events", "Night of Fuji")
	v.FullPicture("journey-organizer-sold-out")

	// Staff refund an order, and its tickets are sold again.
	staff.follow("Company", "Open the company's pages", "Orders")
	staff.fill("Order id, ticket id", balcony[0].ID)
	staff.press("button", "^Find$")
	staff.unfold("Refund this order")
	staff.sees("₦1,000,000.00 goes back to Float.", "₦25,000.00 of commission is taken back from Earnings")
	staff.fill("Reason", "The buyer is ill")
	staff.tick("Sell the 50 tickets again")
	staff.press("button", "^Refund ₦1,000,000.00")
	staff.sees("₦1,000,000.00 went back to Float")
	v.comes("Balcony Available ₦20,000.00 950 50 0 1,000", "Events", "Night of Fuji")
	buy("Balcony", "20000.00", 1)
	v.comes("Sold 5,000 On sale 0", "Events", "Night of Fuji")

	// The owner requests the earnings: 2.5 % of 45 million.
	v.follow("Settlements")
	v.fill("Bank", "Zenith")
	v.fill("Account number", "1234567890")
	v.fill("Name of the account", "Adire Concerts Ltd")
	v.press("button", "^Set the account")
	v.unfold("Request ₦1,125,000.00")
	v.press("button", "^Request ₦1,125,000.00 to")
	staff.follow("Platform", "Review settlements")
	staff.unfold("Approve")
	staff.press("button", "^Approve ₦1,125,000.00")
	staff.sees("The settlement of ₦1,125,000.00 is completed.", "No open settlements")
	v.follow("Settlements")
	v.sees("Completed", "Earnings ₦0.00")
	v.follow("Overview")
	v.sees("₦6,000,000.00") // Float: a million at first, 50 credited, 45 sold

	staff.follow("Books")
	staff.press("button", "^Verify all$")
	staff.Wait(`document.body.innerText.includes("Verified all companies") || (location.reload(), false)`)
	report, err := s.staff.VerifyLedger(t.Context(), s.company, nil)
	ok.NoErr(err)
	ok.Equal(len(report.Problems), 0)
	v.staysHere()
	staff.staysHere()
}

// soldOrder is an order as the shop gets it.
type soldOrder struct {
	ID    string `json:"id"`
	Lines []struct {
		AdmissionID string `json:"admissionId"`
	} `json:"lines"`
}
