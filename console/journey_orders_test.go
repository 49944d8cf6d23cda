package console_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// filter presses the button of a filter. With script the list changes in place.
func (v *traveler) filter(member string) {
	v.t.Helper()
	if v.means.noScript {
		v.press("button", "^Show$")
	} else {
		v.activate("button", "^Show$")
	}
	v.Wait(`new URLSearchParams(location.search).has("` + member + `") && !document.querySelector(".htmx-request")`)
}

// TestOrderIsFoundAndRefundedAndItsBuyerErased finds an order in every possible way, refunds it, erases its buyer and
// downloads all orders.
func TestOrderIsFoundAndRefundedAndItsBuyerErased(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	t.Run("by mouse", func(t *testing.T) {
		t.Parallel()
		findAndRefund(t, means{})
	})
	t.Run("by keyboard and without script", func(t *testing.T) {
		t.Parallel()
		findAndRefund(t, means{keyboard: true, noScript: true})
	})
}

func findAndRefund(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	ok, s := is.New(t), newShop(t)
	order, other := s.sellTo(t, "ngozi@example.com", 2), s.sell(t)
	short := order.ID.String()[:8]
	s.books.Scan(t, order.EventID, order.Lines[0].AdmissionID)

	// Staff find the order by the address, by its id, and by the code of a ticket.
	staff := s.travelAs(t, browser, chief, by)
	staff.follow("Companies", s.books.Company.Name, "Open the company's pages", "Orders")
	staff.sees(short, other.ID.String()[:8], "₦300.00", "Confirmed")
	staff.fill("Buyer's email", "ngozi@example.com")
	staff.filter("email")
	staff.sees(short)
	staff.seesNo(other.ID.String()[:8])
	staff.FullPicture("journey-orders")
	for _, text := range []string{
		order.ID.String(), ticketing.FormatAdmissionCode(order.EventID, order.Lines[1].AdmissionID),
	} {
		staff.follow("Orders")
		staff.fill("Order id, ticket id", text)
		staff.press("button", "^Find$")
		staff.sees("Order "+short, "2 tickets", "Main gate", "Not yet")
	}

	// They read what a refund moves, long after their sign-in, and refund it.
	staff.unfold("Refund this order")
	staff.sees("₦300.00 goes back to Float.", "₦7.50 of commission is taken back from Earnings, which holds ₦11.25.",
		"2 tickets admit nobody from then on. 1 ticket was already scanned.")
	staff.FullPicture("journey-refund")
	staff.fill("Reason", "The buyer is ill")
	staff.tick("Sell the 2 tickets again")
	s.books.Clock.Advance(11 * time.Minute)
	staff.prove("^Refund ₦300.00")
	staff.sees("₦300.00 went back to Float", "Its tickets can be sold again.", "Refunded", "The buyer is ill",
		"Checkout refund ₦300.00", "Commission reversal −₦7.50")
	staff.seesNo("Refund this order")

	// The owner erases the buyer, and downloads the orders.
	owns := s.travelAs(t, browser, owner, by)
	owns.follow("Buyers")
	owns.fill("Email starts with", "ng")
	owns.filter("email")
	owns.seesNo("ada@example.com")
	owns.press("button", "^Erase… ngozi@example.com")
	owns.sees("email, name and phone from the buyer and from 1 order", "no money moves")
	owns.FullPicture("journey-erasure")
	owns.press("button", "^Erase ngozi@example.com")
	owns.sees("The buyer was erased, with 1 order.", "ada@example.com")
	owns.seesNo("ngozi@example.com")
	owns.follow("Orders")
	name, text := owns.Download(func() { owns.activate("button", "^Download as CSV") })
	ok.Equal(name, "orders.csv")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	ok.NoErr(err)
	ok.Equal(len(rows), 3)
	ok.Equal(rows[1][:2], []string{other.ID.String(), "CONFIRMED"})
	ok.Equal(rows[2][:2], []string{order.ID.String(), "REFUNDED"})
	ok.Equal(rows[2][8:13], []string{"2", "VIP 2", "1", "300.00", "7.50"})
	ok.True(!strings.Contains(text, "ngozi"))
	staff.staysHere()
	owns.staysHere()
}
