package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const reports = "/business/{companyId}/reports"

// advanceTo sets the clock of a shop forward, and signs the viewer in again.
func (s *shop) advanceTo(t *testing.T, at time.Time) {
	t.Helper()
	s.books.Clock.Advance(at.Sub(s.books.Clock.Now()))
	s.signIn(t, viewer)
}

// count has the dispatch count what was sold and admitted.
func (s *shop) count(t *testing.T) {
	t.Helper()
	_, err := s.SendWebhooks(t.Context())
	is.New(t).NoErr(err)
}

func TestReportShowsSalesByDay(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	empty := s.get(t, viewer, reports)
	ok.True(empty.has("Gross sales in this period appear here."))
	ok.True(empty.has("Tickets scanned at a gate"))
	s.sell(t)
	s.sell(t)
	s.count(t)
	first := s.books.Clock.Now()
	s.advanceTo(t, first.Add(24*time.Hour))
	s.sell(t)
	s.count(t)

	got := s.get(t, viewer, reports)
	ok.True(got.has(`<p class="sum">₦450.00</p>`))
	ok.True(got.has("With 3 tickets"))
	lagos := time.FixedZone("WAT", 60*60)
	day := first.In(lagos).Format("2 Jan 2006")
	ok.True(got.has("<title>" + day + ": ₦300.00</title>"))
	ok.True(got.has(`<tr><td class="whole" data-label="Day"><bdi>` + day + `</bdi></td>` +
		`<td class="number" data-label="Orders">2</td><td class="number" data-label="Tickets">2</td>` +
		`<td class="number" data-label="Gross">₦300.00</td>` +
		`<td class="number" data-label="Refunded">₦0.00</td></tr>`))
	ok.True(got.has("Float at the end of each day"))
	// 30 days of each of the charts of sales and of the float; nobody was admitted.
	ok.Equal(strings.Count(got.text, `<rect class="over"`), 60)

	event := s.get(t, viewer, reports+"?interval=HOUR&event="+s.event.ID.String())
	ok.True(event.has(`"><bdi>VIP</bdi></td>`))
	ok.True(!event.has("Float at the end"))
	ok.True(s.get(t, viewer, reports+"?event="+uuid.NewString()).has("No data yet"))

	var data struct {
		Sales ticketing.SalesReport
		Float []struct{ Balance money.Amount }
	}
	s.get(t, viewer, "/api/v2"+reports+"?since="+first.In(lagos).Format(time.DateOnly)).data(t, &data)
	ok.Equal(len(data.Sales.Items), 2)
	ok.Equal(len(data.Float), 2)
	ok.Equal(data.Float[0].Balance-data.Float[1].Balance, money.Amount(150_00))
	overview := s.get(t, viewer, "/business/{companyId}")
	ok.True(overview.has(day + ": ₦300.00"))
	ok.True(overview.has("Float at the end of each day"))
}

// TestReportHasTheDaysOfItsZone sells around the night in which the clocks of Berlin go forward: that day has 23 hours,
// and a sale late in the evening in Lagos is of the next day in Kolkata.
func TestReportHasTheDaysOfItsZone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	now := s.books.Clock.Now()
	berlin, err := time.LoadLocation("Europe/Berlin")
	ok.NoErr(err)
	forward := time.Date(now.Year()+1, time.March, 31, 12, 0, 0, 0, berlin)
	for forward.Weekday() != time.Sunday {
		forward = forward.AddDate(0, 0, -1)
	}
	day := forward.Format(time.DateOnly)
	query := "?tz=Europe/Berlin&since=" + day + "&until=" + day
	begin := time.Date(forward.Year(), forward.Month(), forward.Day(), 0, 0, 0, 0, berlin)
	s.advanceTo(t, begin.Add(time.Minute))
	s.sell(t)
	s.advanceTo(t, begin.Add(23*time.Hour-time.Minute))
	s.sell(t)
	s.advanceTo(t, begin.Add(23*time.Hour+time.Minute))
	s.sell(t) // of the next day
	s.count(t)

	daily := s.get(t, viewer, reports+query)
	ok.True(daily.has(forward.Format("2 Jan 2006") + " (23 hours): ₦300.00"))
	hourly := s.get(t, viewer, reports+query+"&interval=HOUR")
	ok.Equal(strings.Count(hourly.text, `<rect class="over"`), 2*23) // of the sales and of the float
	ok.True(hourly.has("00:00 CET: ₦150.00"))
	ok.True(hourly.has("23:00 CEST: ₦150.00"))
	ok.True(!hourly.has("02:00 CE")) // The clocks skip it.

	// In Kolkata the second and third sale are of the day after.
	kolkata := s.get(t, viewer, reports+"?tz=Asia/Kolkata&since="+day+"&until="+day)
	ok.True(kolkata.has(forward.Format("2 Jan 2006") + ": ₦150.00"))
}

func TestReportRefusesPeriodsAndZones(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for query, want := range map[string]string{
		"tz=Mars/Olympus":                   "tz: must be the name of a time zone",
		"tz=Local":                          "tz: must be the name of a time zone",
		"tz=../../etc/passwd":               "tz: must be the name of a time zone",
		"since=yesterday":                   "since: must be a day",
		"since=2026-02-30":                  "since: must be a day",
		"since=0001-01-01&until=0001-01-02": "must be a day since 1900",
		"since=2026-11-20&until=2026-11-18": "since: must not be later than until",
		"since=2030-01-01":                  "since: must not be later than until",
		"since=2020-01-01":                  "at most 400 days",
		"since=2026-10-01&interval=HOUR":    "at most 400 days after since, or 400 hours",
		"interval=MINUTE":                   "interval: must be HOUR or DAY",
		"event=1":                           "event: ",
	} {
		got := s.get(t, viewer, reports+"?"+query)
		ok.Equal(got.StatusCode, http.StatusBadRequest) // query
		ok.True(got.has(want))                          // query
	}
	ok.Equal(s.get(t, viewer, reports+"?since=2025-12-01&until=2030-01-01").StatusCode, http.StatusOK)
}

// TestManyTiersShareAColour checks that a chart has at most five colours, however many tiers an event has.
func TestManyTiersShareAColour(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	tiers := []string{"A & A", "B", "C", "D", "E", "F"}
	event := s.books.Event(t, func(p *ticketing.CreateEventParams) { p.TicketCategories = tiers })
	for _, tier := range tiers {
		s.books.Inventory(t, event.ID, tier, 100_00, 10)
		s.books.Sell(t, event.ID, tier, 1)
	}
	s.count(t)
	got := s.get(t, viewer, reports+"?event="+event.ID.String())
	ok.True(got.has("<bdi>A &amp; A</bdi>"))
	ok.True(got.has("<bdi>Others</bdi>"))
	ok.Equal(strings.Count(got.text, `<path class="s`), 5)
	ok.True(got.has("₦600.00")) // all of them
}

// TestPlatformSeesTheMoneyOfAllCompanies checks the sums over companies, and that the one that sold most comes first.
func TestPlatformSeesTheMoneyOfAllCompanies(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	event := s.neighbor.Event(t)
	s.neighbor.Inventory(t, event.ID, "VIP", 70_00, 5)
	s.neighbor.Sell(t, event.ID, "VIP", 2)
	s.count(t)

	const money = "/platform/money"
	got := s.get(t, support, money)
	ok.True(got.has(`<p class="sum">₦290.00</p>`)) // of both companies
	ok.True(got.has(": ₦290.00</title>"))
	ok.True(got.has(`href="/business/` + s.other.String() + `/reports"`))
	ok.Equal(s.get(t, support, "/business/"+s.other.String()+"/reports").StatusCode, http.StatusOK)

	var data ticketing.PlatformSales
	s.get(t, support, "/api/v2"+money).data(t, &data)
	ok.Equal(len(data.Companies), 2)
	ok.True(data.Companies[0].Sales.Gross > data.Companies[1].Sales.Gross)
	ok.Equal(data.Total.Gross, data.Companies[0].Sales.Gross+data.Companies[1].Sales.Gross)
	ok.True(!data.HasMore && !data.Counting)
}

// TestPlatformMoneyHasAPeriod sells in two hours of a day that is over: the page, its file and the links to reports are
// of the period, interval and zone that were chosen.
func TestPlatformMoneyHasAPeriod(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	const money = "/platform/money"
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	ok.NoErr(err)
	midnight := s.books.Clock.Now().In(kolkata).AddDate(0, 0, 2).Truncate(time.Hour)
	midnight = time.Date(midnight.Year(), midnight.Month(), midnight.Day(), 0, 0, 0, 0, kolkata)
	for _, after := range []time.Duration{time.Minute, 3*time.Hour + time.Minute, 24*time.Hour + time.Minute} {
		s.advanceTo(t, midnight.Add(after))
		s.sell(t)
		s.count(t)
	}
	s.books.Clock.Advance(72 * time.Hour)
	s.signIn(t, chief)
	day := midnight.Format(time.DateOnly)
	query := "?since=" + day + "&until=" + day + "&tz=Asia%2FKolkata"
	got := s.get(t, chief, money+query+"&interval=HOUR")
	ok.True(got.has("Sales of all companies on " + midnight.Format("2 January 2006") + ". Days and hours are " +
		"in the time zone Asia/Kolkata."))
	ok.True(got.has(`<p class="sum">₦300.00</p>`))
	ok.True(got.has(midnight.Format("2 Jan 2006") + ", 03:00 IST: ₦150.00"))
	ok.True(got.has("/reports?interval=HOUR&amp;since=" + day + "&amp;tz=Asia%2FKolkata&amp;until=" + day + `"`))
	file := readCSV(t, s.postJSON(t, chief, money+"/export",
		`{"since":"`+day+`","until":"`+day+`","tz":"Asia/Kolkata"}`))
	ok.Equal(file[1][0], day+"T00:00:00+05:30")
	ok.Equal(file[1][6], "300.00")
	ok.True(s.get(t, chief, money).has("in the last 30 days, including today"))
	ok.True(s.get(t, chief, money+"?until=2020-01-01").has("No sales in this period"))
	for query, want := range map[string]string{
		"since=2020-01-01": "at most 400 days", "interval=MINUTE": "interval: must be HOUR or DAY",
		"event=x": "event: is not",
	} {
		refused := s.get(t, chief, money+"?"+query)
		ok.Equal(refused.StatusCode, http.StatusBadRequest) // query
		ok.True(refused.has(want))                          // query
	}
}
