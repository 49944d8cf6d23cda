package console_test

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

const orders = "/business/{companyId}/orders"

// sellTo sells tickets to a buyer.
func (s *shop) sellTo(t *testing.T, email string, quantity int) ticketing.Order {
	t.Helper()
	basket := ticketingtest.Basket(s.event.ID, "VIP", 150_00, quantity)
	basket.Buyer.Email, basket.Buyer.Fullname = email, "Ngozi <b>Obi</b>"
	order, err := s.Checkout(t.Context(), s.books.Caller, s.books.Key(), basket)
	is.New(t).NoErr(err)
	return order
}

// listed returns the ids of the orders on a page of the list.
func (s *shop) listed(t *testing.T, who, query string) []uuid.UUID {
	t.Helper()
	var list []struct {
		ID uuid.UUID `json:"id"`
	}
	got := s.get(t, who, "/api/v2"+orders+query)
	is.New(t).Equal(got.StatusCode, http.StatusOK)
	got.data(t, &list)
	ids := make([]uuid.UUID, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	return ids
}

func TestOrdersAreFiltered(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	empty := s.get(t, viewer, orders)
	ok.True(empty.has("No orders yet") && empty.has("POST /checkouts") && empty.has("What a sale needs"))
	first := s.sellTo(t, "ngozi@example.com", 2)
	s.books.Clock.Advance(48 * time.Hour)
	for _, who := range []string{viewer, support} {
		s.signIn(t, who) // Their sessions have ended.
	}
	second := s.sell(t)
	_, err := s.staff.CancelOrder(t.Context(), second.ID, "A stolen card")
	ok.NoErr(err)
	day := s.books.Clock.Now().In(time.FixedZone("WAT", 60*60)).Format(time.DateOnly)
	newest, oldest, both := []uuid.UUID{second.ID}, []uuid.UUID{first.ID}, []uuid.UUID{second.ID, first.ID}
	for query, want := range map[string][]uuid.UUID{
		"": both, "?status=CANCELLED": newest, "?status=CONFIRMED": oldest, "?email=NGOZI%40example.com": oldest,
		"?email=nobody%40example.com": {}, "?since=" + day: newest, "?until=" + day: both,
		"?since=2020-01-01&until=2020-01-02": {}, "?event=" + s.event.ID.String(): both,
		"?event=" + uuid.NewString(): {}, "?limit=1": newest,
	} {
		ok.Equal(s.listed(t, viewer, query), want) // query
	}
	page := s.get(t, support, orders+"?email=ngozi@example.com")
	ok.True(page.has("Ngozi &lt;b&gt;Obi&lt;/b&gt;") && page.has("₦300.00") && page.has("Confirmed"))
	ok.True(page.has(`value="ngozi@example.com"`)) // The filter stays.
	ok.True(page.has("<bdi>" + s.event.Title + "</bdi>"))
	ok.True(s.get(t, viewer, orders+"?status=REFUNDED").has("No orders match"))
	ok.True(s.get(t, viewer, orders+"?limit=1").has("Next page"))
	for _, wrong := range []string{
		"?status=SOLD", "?status=SOLD&email=ngozi", "?since=yesterday", "?event=x", "?limit=0", "?cursor=x",
		"?since=2026-11-23&until=2026-11-20", "?email=" + strings.Repeat("a", 400) + "@example.com",
	} {
		ok.Equal(s.get(t, viewer, orders+wrong).StatusCode, http.StatusBadRequest)           // wrong
		ok.Equal(s.get(t, viewer, "/api/v2"+orders+wrong).StatusCode, http.StatusBadRequest) // wrong
	}
}

func TestOrderIsFoundByItsIDAnAdmissionAndACode(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sellTo(t, "ngozi@example.com", 2)
	admission := order.Lines[1].AdmissionID
	code := ticketing.FormatAdmissionCode(order.EventID, admission)
	for _, text := range []string{
		order.ID.String(), " " + strings.ToUpper(order.ID.String()) + "\n", admission.String(), code,
		strings.ToLower(code) + "\r\n",
	} {
		query := "?q=" + url.QueryEscape(text)
		found := s.get(t, viewer, orders+query)
		ok.Equal(found.Header.Get("Location"), "/business/"+s.company.String()+"/orders/"+order.ID.String()) // text
		ok.Equal(s.listed(t, support, query), []uuid.UUID{order.ID})                                         // text
	}
	other := ticketing.FormatAdmissionCode(uuid.New(), admission)
	for _, text := range []string{uuid.NewString(), other, ticketing.FormatAdmissionCode(order.EventID, order.ID)} {
		ok.True(s.get(t, viewer, orders+"?q="+url.QueryEscape(text)).has("No order has this id or code")) // text
	}
	for _, text := range []string{"ada", "<script>alert(1)</script>", strings.Repeat("x", 5000), code + ":1"} {
		shown := s.get(t, viewer, orders+"?q="+url.QueryEscape(text))
		ok.True(shown.has("Type or scan a whole order id") && !shown.has("<script>alert")) // text
		ok.Equal(s.get(t, viewer, "/api/v2"+orders+"?q="+url.QueryEscape(text)).StatusCode, http.StatusBadRequest)
	}
	// The order of another company is as one that does not exist.
	foreign := "/business/" + s.other.String() + "/orders"
	for _, path := range []string{foreign + "/" + order.ID.String(), "/api/v2" + foreign + "/" + order.ID.String()} {
		ok.Equal(s.get(t, stranger, path).StatusCode, http.StatusNotFound)
		ok.Equal(s.get(t, chief, path).StatusCode, http.StatusNotFound)
	}
	ok.True(s.get(t, stranger, foreign+"?q="+order.ID.String()).has("No order has this id or code"))
	ok.True(s.get(t, chief, foreign+"?q="+url.QueryEscape(code)).has("No order has this id or code"))
}

func TestOrderShowsItsTicketsMailsAndMovements(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sellTo(t, "ngozi@example.com", 2)
	s.sendMails(t)
	s.books.Scan(t, order.EventID, order.Lines[0].AdmissionID)
	path := orders + "/" + order.ID.String()
	page := s.get(t, viewer, path)
	for _, text := range []string{
		"2 tickets", "Main gate", "Not yet", "ngozi@example.com", "₦300.00", "₦7.50 (2.5 %)", "Checkout debit",
		"−₦300.00", "Commission accrual", "Sent", order.ID.String(),
	} {
		ok.True(page.has(text)) // text
	}
	ok.True(!page.has("Refund this order")) // A company cannot refund.
	ok.True(!s.get(t, support, path).has("Refund this order"))
	var shown struct {
		Order struct {
			Status     string
			EventTitle string
			Lines      []struct{ Validation *struct{ Location string } }
		}
		Mails     []struct{ Status string }
		Movements []struct{ Kind string }
	}
	s.get(t, viewer, "/api/v2"+path).data(t, &shown)
	ok.Equal(shown.Order.EventTitle, s.event.Title)
	ok.Equal(shown.Order.Lines[0].Validation.Location, "Main gate")
	ok.Equal(len(shown.Mails), 1)
	ok.Equal(len(shown.Movements), 2)
}

func TestRefundSaysBeforeWhatItMoves(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sellTo(t, "ngozi@example.com", 2)
	s.books.Scan(t, order.EventID, order.Lines[0].AdmissionID)
	path := orders + "/" + order.ID.String()
	page := s.get(t, chief, path)
	for _, text := range []string{
		"<strong>₦300.00</strong> goes back to Float.",
		"<strong>₦7.50</strong> of commission is taken back from Earnings, which holds ₦7.50.",
		"<strong>2 tickets admit</strong> nobody from then on. 1 ticket was already scanned.",
		"Sell the 2 tickets again", "No money moves",
	} {
		ok.True(page.has(text)) // text
	}
	before := s.books.Wallets(t)
	refused := s.post(t, chief, path+"/refund", "reason", " ", "restock", "true")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`<details open><summary>Refund this order`) && refused.has(`value="true" checked`))
	ok.Equal(s.books.Wallets(t), before)

	done := s.follow(t, chief, s.post(t, chief, path+"/refund", "reason", "The <i>buyer</i> is ill", "restock", "true"))
	ok.True(done.has("₦300.00 went back to Float, and ₦7.50 of commission was taken back from Earnings. " +
		"Its tickets can be sold again."))
	for _, text := range []string{
		"The &lt;i&gt;buyer&lt;/i&gt; is ill", "Refunded", "On sale again", "Checkout refund", "Commission reversal",
	} {
		ok.True(done.has(text)) // text
	}
	ok.True(!done.has("Refund this order") && !done.has("Cancel this order"))
	_, by, _ := strings.Cut(done.text, `<dt>By</dt><dd><a href="`)
	by, _, _ = strings.Cut(by, `"`)
	log := s.get(t, chief, html.UnescapeString(by))
	ok.True(log.has("Refunded an order") && log.has("<bdi>"+chief+"</bdi></a>") && log.has(order.ID.String()))
	after := s.books.Wallets(t)
	ok.Equal(after.Float, before.Float+300_00)
	ok.Equal(after.Earnings, before.Earnings-7_50)
	// The same again moves nothing, and a cancellation is refused.
	again := s.follow(t, chief, s.post(t, chief, path+"/refund", "reason", "Again"))
	ok.True(again.has("The order was already refunded. Nothing moved."))
	ok.Equal(s.post(t, chief, path+"/cancel", "reason", "Again").StatusCode, http.StatusConflict)
	ok.Equal(s.books.Wallets(t), after)
}

func TestRefundOfPaidOutCommissionIsRefused(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sell(t)
	s.post(t, owner, settlements+"/bank-account/set", "bank", "Zenith", "accountNumber", "1234567890",
		"accountName", "Adire")
	s.post(t, owner, settlements+"/request")
	path := orders + "/" + order.ID.String()
	ok.True(s.get(t, chief, path).has("Earnings no longer holds this commission"))
	refused := s.post(t, chief, path+"/refund", "reason", "The buyer is ill")
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(refused.has("Earnings does not hold the commission of the order any more."))
	ok.True(refused.has("The buyer is ill")) // What was typed stays.
}

func TestOrderIsCancelledWithoutMoney(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sell(t)
	before := s.books.Wallets(t)
	path := orders + "/" + order.ID.String()
	done := s.follow(t, chief, s.post(t, chief, path+"/cancel", "reason", "A stolen card"))
	ok.True(done.has("The order is cancelled. Its tickets no longer admit anyone."))
	ok.True(done.has("A stolen card") && done.has("Cancelled") && done.has("Not sold again") && done.has("Admits nobody"))
	ok.Equal(s.books.Wallets(t), before)

	// An order is ended under the company that it belongs to.
	second := s.sell(t)
	foreign := "/business/" + s.other.String() + "/orders/" + second.ID.String()
	ok.Equal(s.post(t, chief, foreign+"/cancel", "reason", "A stolen card").StatusCode, http.StatusNotFound)
	ok.Equal(s.post(t, chief, foreign+"/refund", "reason", "A stolen card").StatusCode, http.StatusNotFound)
	ok.Equal(s.books.Wallets(t).Float, before.Float-150_00)
	ok.True(s.get(t, chief, orders+"/"+second.ID.String()).has("Confirmed"))
}

// TestOrdersAndEventsLeadToEachOther holds that the filter of orders has the events to choose from, and finds others by
// the beginning of their names, and that an event and its orders link to each other.
func TestOrdersAndEventsLeadToEachOther(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order, second := s.sell(t), s.books.Event(t)
	page := s.get(t, viewer, orders)
	for _, event := range []ticketing.Event{s.event, second} {
		ok.True(page.has(`<option value="` + event.ID.String() + `">`)) // event
	}
	of := "/business/" + s.company.String()
	found := s.get(t, viewer, orders+"?status=CONFIRMED&eventName="+url.QueryEscape(s.event.Title[:4]))
	ok.True(found.has(`href="` + of + "/orders?event=" + s.event.ID.String() + `&amp;status=CONFIRMED"`))
	refused := s.get(t, viewer, "/api/v2"+orders+"?eventName=Adire") // A program has the id.
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("eventName: is not a known query parameter"))
	// A page that fetches its changing part again has no filters in it, and reads none.
	again := s.request(t, http.MethodGet, orders, nil)
	ok.True(s.do(t, viewer, again).has(`<option value="` + s.event.ID.String()))
	again = s.request(t, http.MethodGet, orders, nil)
	again.Header.Set("X-Console-Live", "1")
	part := s.do(t, viewer, again)
	ok.Equal(part.StatusCode, http.StatusOK)
	ok.True(part.has(`id="live"`) && !part.has(`<option value="`+s.event.ID.String()))
	ok.True(s.get(t, viewer, orders+"?eventName=Nothing").has("No event has a name that begins with"))
	ok.True(s.get(t, viewer, s.at()).has(`href="` + of + "/orders?event=" + s.event.ID.String() + `"`))
	ok.True(s.get(t, viewer, orders+"/"+order.ID.String()).has(`href="` + of + "/events/" + s.event.ID.String() + `"`))
}

// TestOrdersAreFoundByTheBeginningOfAnEmail holds that the beginning of an email leads to the orders of the buyers that
// it fits, and keeps the other filters, and that a program gets their orders.
func TestOrdersAreFoundByTheBeginningOfAnEmail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	for _, email := range []string{"ngozi@example.com", "ngozi@example.com.ng", "nneka@example.com"} {
		s.sellTo(t, email, 1)
	}
	link := func(email string) string {
		return `href="/business/` + s.company.String() + "/orders?email=" + url.QueryEscape(email) + `&amp;status=CONFIRMED"`
	}
	for text, want := range map[string]string{
		"n": "ngozi@example.com ngozi@example.com.ng nneka@example.com", "NGOZI": "ngozi@example.com ngozi@example.com.ng",
		"nneka@example": "nneka@example.com", "nneka@example.co": "nneka@example.com", "x": "", "nneka@example.com": "",
	} {
		page := s.get(t, viewer, orders+"?status=CONFIRMED&email="+url.QueryEscape(text))
		ok.Equal(page.StatusCode, http.StatusOK) // text
		for _, email := range []string{"ngozi@example.com", "ngozi@example.com.ng", "nneka@example.com"} {
			listed := page.has("Buyers whose email begins with") && page.has(link(email))
			ok.Equal(listed, slices.Contains(strings.Fields(want), email)) // text, email
		}
	}
	// A program gets the orders of all of them.
	ok.Equal(s.get(t, viewer, "/api/v2"+orders+"?email=ngozi").StatusCode, http.StatusBadRequest)
	listed := s.get(t, viewer, "/api/v2"+orders+"?emailPrefix=NGOZI&status=CONFIRMED")
	ok.Equal(listed.StatusCode, http.StatusOK)
	ok.True(strings.Contains(listed.text, `"ngozi@example.com"`))
	ok.True(strings.Contains(listed.text, `"ngozi@example.com.ng"`))
	ok.True(!listed.has("nneka"))
	ok.Equal(len(readCSV(t, s.postJSON(t, viewer, orders+"/export", `{"emailPrefix":"ngozi"}`))), 1+2)
	for _, path := range []string{
		orders + "?emailPrefix=n", "/api/v2" + orders + "?emailPrefix=n&email=nneka@example.com",
	} {
		ok.Equal(s.get(t, viewer, path).StatusCode, http.StatusBadRequest) // path
	}
	_, err := s.staff.EraseBuyer(t.Context(), s.company, "nneka@example.com")
	ok.NoErr(err)
	ok.True(!s.get(t, viewer, orders+"?email=e").has("Buyers whose email begins with"))
}
