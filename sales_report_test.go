package ticketing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
)

// zone returns a time zone by its name.
func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	found, err := time.LoadLocation(name)
	is.New(t).NoErr(err)
	return found
}

// dispatch dispatches all facts of a shop, which counts its sales and admissions.
func dispatch(t *testing.T, shop *ticketingtest.Shop) {
	t.Helper()
	is := is.New(t)
	service, err := ticketing.New(shop.Store, &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Sender: new(everyOther),
	})
	is.NoErr(err)
	_, err = service.SendWebhooks(t.Context())
	is.NoErr(err)
}

// TestSalesAreReported checks that a report has what was sold, paid back and admitted in each hour and day of a zone,
// of a company, an event and a tier, and that it equals the orders.
func TestSalesAreReported(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 50)
		shop.Inventory(t, event.ID, "REGULAR", 10_00, 50)
		other := shop.Event(t)
		shop.Inventory(t, other.ID, "VIP", 100_00, 50)
		var orders []ticketing.Order
		for i := range 8 {
			shop.Clock.Advance(5 * time.Hour)
			of := []uuid.UUID{event.ID, event.ID, other.ID}[i%3]
			tier := []string{"VIP", "REGULAR", "VIP"}[i%3]
			orders = append(orders, shop.Sell(t, of, tier, 1+i%2))
			if i%4 == 0 {
				shop.Scan(t, of, orders[i].Lines[0].AdmissionID)
			}
			if i == 3 || i == 5 {
				shop.Clock.Advance(time.Hour)
				refund(t, shop, orders[i-1].ID)
			}
		}
		dispatch(t, shop)
		from, to := ticketingtest.Opening, ticketingtest.Opening.Add(72*time.Hour)
		for _, name := range []string{"UTC", "Africa/Lagos", "Asia/Kathmandu", "America/St_Johns", "Pacific/Auckland"} {
			in := zone(t, name)
			for _, interval := range []ticketing.SalesInterval{ticketing.SalesHourly, ticketing.SalesDaily} {
				for _, of := range []uuid.UUID{{}, event.ID, other.ID, uuid.New()} {
					begin := func(at time.Time) string {
						if interval == ticketing.SalesDaily {
							return at.In(in).Format("2006-01-02 00:00")
						}
						return at.In(in).Format("2006-01-02 15:00")
					}
					want := map[string]ticketing.SalesFigures{}
					var total ticketing.SalesFigures
					count := func(at time.Time, change func(f *ticketing.SalesFigures)) {
						f := want[begin(at)]
						change(&f)
						want[begin(at)] = f
						change(&total)
					}
					for _, order := range orders {
						if of != uuid.Nil && order.EventID != of {
							continue
						}
						count(order.ConfirmedAt.Time, func(f *ticketing.SalesFigures) {
							f.Orders++
							f.Admissions += int64(len(order.Lines))
							f.Gross += order.Gross
							f.Commission += order.Commission.Amount
						})
						detail, err := shop.Staff.GetOrder(t.Context(), order.ID)
						is.NoErr(err)
						if detail.Ending != nil {
							count(detail.Ending.At.Time, func(f *ticketing.SalesFigures) {
								f.Refunded += order.Gross
								f.Reversed += order.Commission.Amount
							})
						}
						for _, line := range detail.Lines {
							if line.Validation != nil {
								count(line.Validation.ValidatedAt.Time, func(f *ticketing.SalesFigures) { f.Admitted++ })
							}
						}
					}
					report, err := shop.Staff.Sales(t.Context(), shop.Company.ID, ticketing.SalesFilter{
						EventID: of, From: from, To: to, Interval: interval, Zone: in,
					})
					is.NoErr(err)
					got := map[string]ticketing.SalesFigures{}
					for _, row := range report.Items {
						is.Equal(begin(row.From.Time), row.From.In(in).Format("2006-01-02 15:04"))
						got[begin(row.From.Time)] = row.SalesFigures
					}
					is.Equal(got, want)
					is.Equal(len(report.Items), len(want))
					is.Equal(report.Total, total)
					is.True(report.CompleteFrom == nil)
					figures, err := shop.Staff.EventSales(t.Context(), shop.Company.ID, []uuid.UUID{of}, ticketing.Period{
						From: from, To: to,
					})
					is.NoErr(err)
					is.Equal(figures, ticketing.EventSalesReport{Items: []ticketing.SalesFigures{total}})
				}
			}
		}
		report, err := shop.Staff.Sales(t.Context(), shop.Company.ID, ticketing.SalesFilter{
			EventID: event.ID, Tiers: true, From: from, To: to,
		})
		is.NoErr(err)
		var tiers []string
		byTier := map[string]int64{}
		for _, row := range report.Items {
			tiers = append(tiers, *row.Tier)
			byTier[*row.Tier] += row.Admissions
			is.Equal(row.Commission.String(), "0.00")
		}
		is.True(slices.IsSorted(tiers))
		sold := map[string]int64{}
		for _, order := range orders {
			for _, line := range order.Lines {
				if order.EventID == event.ID {
					sold[line.Tier]++
				}
			}
		}
		is.Equal(byTier, sold)
		for _, test := range []struct {
			filter ticketing.SalesFilter
			said   string
		}{
			{ticketing.SalesFilter{}, "from: must be in the years 1 to 9999"},
			{ticketing.SalesFilter{From: to, To: from}, "to: must be later than from"},
			{ticketing.SalesFilter{From: from, To: to, Interval: "WEEK"}, "interval: must be HOUR or DAY"},
			{ticketing.SalesFilter{From: from, To: to, Tiers: true}, "tiers: must be of an event"},
			{
				ticketing.SalesFilter{From: from, To: from.AddDate(9000, 0, 0).AddDate(-2000, 0, 0)},
				"to: must be at most 400 intervals after from",
			},
		} {
			_, err := shop.Staff.Sales(t.Context(), shop.Company.ID, test.filter)
			is.Equal(said(err), test.said)
		}
		_, err = shop.Staff.EventSales(t.Context(), shop.Company.ID, make([]uuid.UUID, 1001), ticketing.Period{
			From: from, To: to,
		})
		is.Equal(said(err), "events: must be at most 1000")
	})
}

// TestDaysOfAZone checks that a day of a report is as long as the day of the zone: 23 or 25 hours where the clocks
// change, also where they change at midnight, and that a sale in the last quarter of an hour belongs to its day.
func TestDaysOfAZone(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	for _, test := range []struct {
		zone, day string
		begin     string
		hours     float64
	}{
		{"Europe/Berlin", "2027-03-28", "2027-03-27T23:00:00Z", 23},
		{"Europe/Berlin", "2027-10-31", "2027-10-30T22:00:00Z", 25},
		{"Africa/Cairo", "2027-04-30", "2027-04-29T22:00:00Z", 23},   // There is no 00:00.
		{"America/Havana", "2027-11-07", "2027-11-07T04:00:00Z", 25}, // 00:00 comes twice.
		{"Australia/Lord_Howe", "2027-04-04", "2027-04-03T13:00:00Z", 24.5},
		{"Asia/Kathmandu", "2027-01-01", "2026-12-31T18:15:00Z", 24},
	} {
		t.Run(strings.ReplaceAll(test.zone, "/", " ")+" "+test.day, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			shop := openShop(t, stores()[0], nil)
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "VIP", 100_00, 9)
			begin, err := time.Parse(time.RFC3339, test.begin)
			is.NoErr(err)
			end := begin.Add(time.Duration(test.hours * float64(time.Hour)))
			for _, at := range []time.Time{
				begin.Add(-time.Millisecond), begin, end.Add(-time.Millisecond), end,
			} {
				shop.Clock.Advance(at.Sub(shop.Clock.Now()))
				shop.Sell(t, event.ID, "VIP", 1)
			}
			dispatch(t, shop)
			for _, interval := range []ticketing.SalesInterval{ticketing.SalesDaily, ticketing.SalesHourly} {
				report, err := shop.Staff.Sales(t.Context(), shop.Company.ID, ticketing.SalesFilter{
					From: begin.Add(-time.Hour), To: end.Add(time.Hour), Zone: zone(t, test.zone), Interval: interval,
				})
				is.NoErr(err)
				var rows []string
				for _, row := range report.Items {
					rows = append(rows, fmt.Sprint(row.From, row.To, row.Orders))
				}
				if interval == ticketing.SalesDaily {
					is.Equal(len(report.Items), 3)
					is.Equal(report.Items[1].Orders, int64(2)) // the first and the last millisecond
					is.True(report.Items[1].From.Equal(begin) && report.Items[1].To.Equal(end))
					is.Equal(report.Items[1].From.In(zone(t, test.zone)).Format(time.DateOnly), test.day)
				} else {
					is.Equal(len(rows), 4)
				}
			}
		})
	}
}

// TestBuyersAreListed checks that buyers are listed by email, by the beginning of it, and in pages. An erased buyer is
// listed under the made-up email alone.
func TestBuyersAreListed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 20)
		emails := []string{
			"ada@example.com", "adam@example.com", "ad_m@example.com", "bob@example.com", "eve@example.com", "zoe@example.com",
		}
		for _, email := range emails {
			basket := ticketingtest.Basket(event.ID, "VIP", 10_00, 1)
			basket.Buyer.Email = email
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			is.NoErr(err)
		}
		_, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "eve@example.com")
		is.NoErr(err)
		all, err := shop.Staff.ListBuyers(t.Context(), shop.Company.ID, ticketing.BuyerFilter{Prefix: "erased-"})
		is.NoErr(err)
		is.Equal(len(all.Items), 1)
		is.True(all.Items[0].Fullname == nil && all.Items[0].Phone == nil)
		emails[4] = all.Items[0].Email
		neighbour := shop.Neighbour(t)
		for _, prefix := range []string{"", "ad", " ADA ", "ad_", "ad%", "eve", "zoe@example.com", "zz"} {
			var want []string
			for _, email := range emails {
				if strings.HasPrefix(email, strings.ToLower(strings.TrimSpace(prefix))) {
					want = append(want, email)
				}
			}
			slices.Sort(want)
			for _, limit := range []int{1, 2, 100} {
				filter := ticketing.BuyerFilter{Prefix: prefix, PageParams: ticketing.PageParams{Limit: limit}}
				var got []string
				for more := true; more; {
					page, err := shop.Staff.ListBuyers(t.Context(), shop.Company.ID, filter)
					is.NoErr(err)
					for _, buyer := range page.Items {
						got = append(got, buyer.Email)
						one, err := shop.Staff.GetBuyer(t.Context(), shop.Company.ID, buyer.Email)
						is.NoErr(err)
						is.Equal(show(t, one), show(t, buyer))
					}
					more, filter.Cursor = page.HasMore, page.NextCursor
				}
				is.Equal(got, want)
			}
			page, err := shop.Staff.ListBuyers(t.Context(), neighbour.Company.ID, ticketing.BuyerFilter{Prefix: prefix})
			is.NoErr(err)
			is.Equal(len(page.Items), 0)
		}
		page, err := shop.Staff.ListBuyers(t.Context(), shop.Company.ID,
			ticketing.BuyerFilter{PageParams: ticketing.PageParams{Limit: 1}})
		is.NoErr(err)
		_, err = shop.Staff.ListBuyers(t.Context(), shop.Company.ID,
			ticketing.BuyerFilter{Prefix: "a", PageParams: ticketing.PageParams{Cursor: page.NextCursor}})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		long := ticketing.BuyerFilter{Prefix: strings.Repeat("x", 10_000)}
		_, err = shop.Staff.ListBuyers(t.Context(), shop.Company.ID, long)
		is.Equal(said(err), "prefix: must be at most 320 characters")
		_, err = shop.Staff.ListBuyers(t.Context(), shop.Company.ID, ticketing.BuyerFilter{Prefix: "a\x00b"})
		is.Equal(said(err), "prefix: must not contain control characters")
	})
}
