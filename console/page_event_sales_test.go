package console_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/money"
)

// TestEventShowsItsSalesAndAdmissions checks the charts of an event, each with its table: by day and tier since the
// first sale, and by hour on the day of the event.
func TestEventShowsItsSalesAndAdmissions(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	tiers := []string{"Balcony"}
	event := s.books.Event(t, func(p *ticketing.CreateEventParams) { p.TicketCategories = tiers })
	at := events + "/" + event.ID.String()
	s.books.Inventory(t, event.ID, "VIP", 150_00, 10)
	s.books.Inventory(t, event.ID, "Balcony", 50_00, 10)
	before := s.get(t, viewer, at)
	ok.True(before.has("Gross sales in this period appear here"))
	ok.True(!before.has("Admissions by hour")) // It has not begun.

	zone, err := time.LoadLocation(*event.Schedule.Timezone)
	ok.NoErr(err)
	day, err := time.ParseInLocation(time.DateOnly, *event.Schedule.Date, zone)
	ok.NoErr(err)
	s.advanceTo(t, day.AddDate(0, 0, -2).Add(10*time.Hour))
	sold := s.books.Sell(t, event.ID, "VIP", 2)
	s.count(t)
	ok.True(s.get(t, viewer, at).has(day.AddDate(0, 0, -2).Format("2 Jan 2006") + ": ₦300.00"))
	s.advanceTo(t, day.AddDate(0, 0, -1).Add(10*time.Hour))
	s.books.Sell(t, event.ID, "Balcony", 1)
	s.advanceTo(t, day.Add(12*time.Hour))
	s.books.Scan(t, event.ID, sold.Lines[0].AdmissionID)
	s.count(t)

	got := s.get(t, viewer, at)
	first := day.AddDate(0, 0, -2).Format("2 Jan 2006")
	ok.True(got.has(`<bdi>` + first + `</bdi></td><td data-label="Category"><bdi>VIP</bdi></td>` +
		`<td class="number" data-label="Orders">1</td><td class="number" data-label="Tickets">2</td>`))
	ok.True(got.has(day.AddDate(0, 0, -1).Format("2 Jan 2006") + ": ₦50.00"))
	ok.True(got.has("<bdi>Balcony</bdi></li>")) // in the legend
	ok.True(got.has(`<p class="sum">₦350.00</p>`))
	ok.True(got.has(day.Add(12*time.Hour).Format("2 Jan 2006, 15:04 MST") + ": 1"))
	ok.Equal(strings.Count(got.text, `<rect class="over"`), 7+24) // a week at least, and the hours of the day
	// In another zone the scan is in another hour.
	dubai, err := time.LoadLocation("Asia/Dubai")
	ok.NoErr(err)
	shown := s.get(t, viewer, at+"?tz=Asia/Dubai")
	ok.True(shown.has(`"><bdi>` + day.Add(12*time.Hour).In(dubai).Format("2 Jan 2006, 15:04") + " "))
	ok.Equal(s.get(t, viewer, at+"?tz=Nowhere").StatusCode, 400)

	// A year later the chart still has the days up to the event.
	s.advanceTo(t, day.AddDate(1, 0, 0))
	ok.True(s.get(t, viewer, at).has(first + ": ₦300.00"))
	var data struct {
		Sales struct {
			Total ticketing.SalesFigures
			Days  ticketing.SalesReport
			Hours ticketing.SalesReport
		}
	}
	s.get(t, viewer, "/api/v2"+at).data(t, &data)
	ok.Equal(data.Sales.Total.Orders, int64(2))
	ok.Equal(data.Sales.Days.Total.Admissions, int64(3))
	ok.Equal(data.Sales.Hours.Total.Admitted, int64(1))
	ok.Equal(len(data.Sales.Hours.Items), 1)
}

// TestEventsShowWhatTheyHaveSold checks the counts and the gross of each event of the list.
func TestEventsShowWhatTheyHaveSold(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.books.Sell(t, s.event.ID, "VIP", 2)
	s.books.Event(t)
	s.count(t)
	got := s.get(t, viewer, events)
	ok.True(got.has(`<td class="number" data-label="Sold">0 of 0</td>`))
	ok.True(got.has(`<td class="number" data-label="Gross">` + "₦300.00</td>"))
	var all []struct {
		ID    uuid.UUID
		Stock *ticketing.EventStock
		Gross *money.Amount
	}
	s.get(t, viewer, "/api/v2"+events).data(t, &all)
	ok.Equal(len(all), 2)
	for _, one := range all {
		if one.ID == order.EventID {
			ok.Equal(one.Stock.Sold, int64(2))
			ok.Equal(one.Stock.Total-one.Stock.Sold, one.Stock.Available)
			ok.Equal(*one.Gross, money.Amount(300_00))
		}
	}
}

// TestPagesOfEventsNeedOneSlot checks that the calls of a page do not wait for one another: a company with one slot has
// its pages.
func TestPagesOfEventsNeedOneSlot(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	svc, err := ticketing.New(s.books.Store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: s.books.Clock.Now, CompanySlots: 1,
	})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: s.books.Clock.Now})
	ok.NoErr(err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	for _, path := range []string{events, events + "/" + s.event.ID.String()} {
		address := server.URL + strings.ReplaceAll(path, "{companyId}", s.company.String())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		ok.NoErr(err)
		answer, err := s.clients[owner].Do(request)
		ok.NoErr(err)
		ok.NoErr(answer.Body.Close())
		ok.Equal(answer.StatusCode, http.StatusOK)
	}
}
