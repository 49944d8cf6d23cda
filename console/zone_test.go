package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestListsHaveTheDaysOfTheirZone sells around a day of 23 hours in Berlin, whose borders are not those of a day in
// Lagos: each list that is filtered by days takes those of the zone, and keeps it.
func TestListsHaveTheDaysOfTheirZone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.endpoint(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	ok.NoErr(err)
	forward := time.Date(s.books.Clock.Now().Year()+1, time.March, 31, 0, 0, 0, 0, berlin)
	for forward.Weekday() != time.Sunday {
		forward = forward.AddDate(0, 0, -1)
	}
	var sold []ticketing.Order
	for _, at := range []time.Duration{-time.Minute, time.Minute, 23*time.Hour - time.Minute, 23*time.Hour + time.Minute} {
		s.advanceTo(t, forward.Add(at))
		sold = append(sold, s.sell(t))
		_, err := s.staff.RenameCompany(t.Context(), s.company, fmt.Sprintf("Company %s", at))
		ok.NoErr(err)
		s.sendMails(t)
	}
	for _, who := range []string{owner, viewer, chief} {
		s.signIn(t, who)
	}
	day := forward.Format(time.DateOnly)
	query := "?since=" + day + "&until=" + day + "&tz=Europe%2FBerlin"
	ok.Equal(s.listed(t, viewer, query), []uuid.UUID{sold[2].ID, sold[1].ID})
	// A time of clocks is one of the zone, too.
	ok.Equal(s.listed(t, viewer, "?since="+day+"T00:02&until="+day+"T23:59:30&tz=Europe%2FBerlin"),
		[]uuid.UUID{sold[2].ID})

	const company = "/business/{companyId}"
	for _, list := range []struct{ who, path, rows, filter string }{
		{viewer, orders, "When", ""},
		{viewer, company + "/ledger", "When", ""},
		{viewer, company + "/audit", "When", ""},
		{viewer, company + "/mail", "Created", ""},
		{viewer, company + "/webhooks/deliveries", "Created", ""},
		{chief, "/platform/audit", "When", "&action=company.rename"},
	} {
		query := query + list.filter
		page := s.get(t, list.who, list.path+query)
		ok.Equal(page.StatusCode, http.StatusOK) // list
		if n := strings.Count(page.text, `data-label="`+list.rows+`"`); n != 2 {
			t.Errorf("%s has %d rows of the day", list.path, n)
		}
		ok.True(page.has(`<option value="Europe/Berlin" selected>`))       // list
		ok.True(page.has(forward.Format("2 Jan 2006") + ", 23:59</time>")) // list
		_, next, _ := strings.Cut(s.get(t, list.who, list.path+query+"&limit=1").text, `<p class="more"><a`)
		next, _, _ = strings.Cut(next, "</a>")
		ok.True(strings.Contains(next, "cursor=") && strings.Contains(next, "tz=Europe%2FBerlin")) // list
	}
	file := readCSV(t, s.postJSON(t, owner, orders+"/export",
		`{"since":"`+day+`","until":"`+day+`","tz":"Europe/Berlin"}`))
	ok.Equal(len(file), 1+2)
	statement := readCSV(t, s.postJSON(t, owner, company+"/ledger/statement",
		`{"since":"`+day+`","until":"`+day+`","tz":"Europe/Berlin"}`))
	ok.Equal(strings.Count(fmt.Sprint(statement), "MOVEMENT"), 2*2) // of both wallets
}

// TestListsRefuseUnknownZones holds that a zone that does not exist is refused with words, and so is a time that clocks
// of the zone never show.
func TestListsRefuseUnknownZones(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	const company = "/business/{companyId}"
	for _, path := range []string{
		orders, company + "/ledger", company + "/audit", company + "/mail", company + "/webhooks/deliveries",
		company + "/webhooks/replay", "/platform/audit", "/platform/money",
	} {
		who := owner
		if strings.HasPrefix(path, "/platform") {
			who = chief
		}
		for query, want := range map[string]string{
			"tz=Mars%2FOlympus": "tz: must be the name of a time zone", "tz=Local": "tz: must be the name of a time zone",
			"tz=Europe%2FBerlin&since=2027-03-28T02:30": "since: ", "tz=..%2F..%2Fetc%2Fpasswd": "tz: must be",
			"tz=localtime": "tz: must be", "tz=posix%2FUTC": "tz: must be", "tz=right%2FUTC": "tz: must be",
		} {
			for _, at := range []string{path, "/api/v2" + path} {
				got := s.get(t, who, at+"?"+query)
				ok.Equal(got.StatusCode, http.StatusBadRequest) // at, query
				ok.True(got.has(want))                          // at, query
			}
		}
	}
	ok.True(s.get(t, owner, orders+"?tz=Europe%2FBerlin&since=2027-03-28T02:30").
		has("there is no such time in Europe/Berlin"))
}
