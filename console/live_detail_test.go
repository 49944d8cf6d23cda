package console_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// watch opens the stream of a page that was made just now.
func (s *shop) watch(t *testing.T, path string) *feed {
	t.Helper()
	return s.watchSince(t, path, s.books.Clock.Now())
}

// watchSince opens the stream of a page that was made at a time.
func (s *shop) watchSince(t *testing.T, path string, since time.Time) *feed {
	t.Helper()
	return s.send(t, viewer, s.request(t, http.MethodGet, path+fmt.Sprintf("/live?since=%d", since.UnixMilli()), nil)).
		opened(t)
}

// TestStreamSaysWhatChangedBeforeItOpened changes an event and orders between the making of their pages and the opening
// of the streams. The changes have no time that the service could compare: the pages are signalled nevertheless.
func TestStreamSaysWhatChangedBeforeItOpened(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	cancelled, erased := s.sell(t), s.sellTo(t, "ngozi@example.com", 1)
	s.count(t)
	s.books.Clock.Advance(time.Minute)
	made := s.books.Clock.Now()
	s.books.Clock.Advance(time.Minute)
	s.sell(t)
	_, err := s.staff.CancelOrder(t.Context(), cancelled.ID, "A stolen card")
	ok.NoErr(err)
	_, err = s.staff.EraseBuyer(t.Context(), s.company, "ngozi@example.com")
	ok.NoErr(err)
	var feeds []*feed
	for _, path := range []string{s.at(), orders + "/" + cancelled.ID.String(), orders + "/" + erased.ID.String()} {
		feeds = append(feeds, s.watchSince(t, path, made))
	}
	for _, f := range feeds {
		ok.Equal(f.next(), somethingChanged)
	}
}

// stream returns the address of the stream of a page that is made now.
func (s *shop) stream(t *testing.T, who, path string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s.get(t, who, path).text, `hx-sse:connect="`)
	is.New(t).True(ok)
	address, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(address)
}

// openAt opens the stream at an address.
func (s *shop) openAt(t *testing.T, who, address string) *feed {
	t.Helper()
	return s.send(t, who, s.request(t, http.MethodGet, address, nil)).opened(t)
}

// TestStreamSaysThatAWalletWasSuspendedBeforeItOpened suspends a wallet between the making of a page and the opening of
// its stream. A suspension changes no time of the wallet, so only the state that the page carries shows it.
func TestStreamSaysThatAWalletWasSuspendedBeforeItOpened(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	s.count(t)
	s.books.Clock.Advance(time.Minute)
	address := s.stream(t, viewer, overviewPath)
	_, err := s.staff.SuspendWallet(t.Context(), s.company, "EARNINGS")
	ok.NoErr(err)
	ok.Equal(s.openAt(t, viewer, address).next(), somethingChanged)
}

// TestStreamSaysNothingBeforeAChange opens the streams of pages that show the state of now, each beside one that does
// not know what its page shows. Only the second is signalled.
func TestStreamSaysNothingBeforeAChange(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sell(t)
	s.count(t)
	s.books.Clock.Advance(time.Minute)
	order1 := orders + "/" + order.ID.String()
	for who, paths := range map[string][]string{owner: {s.at(), order1, overviewPath}, chief: {"/platform"}} {
		for _, path := range paths {
			f := s.openAt(t, who, s.stream(t, who, path))
			r := s.request(t, http.MethodGet, path+"/live", nil)
			ok.Equal(s.send(t, who, r).opened(t).next(), somethingChanged)
			_, err := s.Accounts().EndSessions(t.Context(), s.users[who])
			ok.NoErr(err)
			ok.Equal(f.next(), somethingChanged) // path: the end of the session
			ok.Equal(f.next(), sessionOver)
			s.signIn(t, who)
		}
	}
}

// TestStreamSaysWhatMovesNoMoney scans a ticket, cancels an order and erases a buyer. The pages that show it get a
// signal, also for the commits of another process.
func TestStreamSaysWhatMovesNoMoney(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order, other := s.sell(t), s.sellTo(t, "ngozi@example.com", 1)
	s.count(t)
	s.books.Clock.Advance(time.Minute)
	at := orders + "/" + order.ID.String()
	event, one, rest := s.watch(t, s.at()), s.watch(t, at), s.watch(t, orders+"/"+other.ID.String())
	list, log := s.watch(t, orders), s.watch(t, auditLog)
	for _, f := range []*feed{event, one, rest} { // They may have missed a change before.
		ok.Equal(f.next(), somethingChanged)
	}

	s.books.Clock.Advance(time.Minute)
	s.books.Scan(t, s.event.ID, order.Lines[0].AdmissionID) // by another service on the same store
	ok.Equal(one.next(), somethingChanged)
	s.count(t)
	ok.Equal(event.next(), somethingChanged)

	s.books.Clock.Advance(time.Minute)
	_, err := s.staff.CancelOrder(t.Context(), order.ID, "A stolen card")
	ok.NoErr(err)
	ok.Equal(one.next(), somethingChanged)
	ok.Equal(list.next(), somethingChanged)
	ok.Equal(log.next(), somethingChanged)

	s.books.Clock.Advance(time.Minute)
	_, err = s.staff.EraseBuyer(t.Context(), s.company, "ngozi@example.com")
	ok.NoErr(err)
	ok.Equal(rest.next(), somethingChanged)
	ok.Equal(list.next(), somethingChanged)
}

// TestCancellationAppearsOnTheOpenOrder cancels an order while its page is open.
func TestCancellationAppearsOnTheOpenOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	order := s.sell(t)
	s.count(t)
	s.books.Clock.Advance(time.Minute)
	path := "/business/" + s.company.String() + "/orders/" + order.ID.String()
	p := s.open(t, browsertest.New(t), viewer, path, browsertest.Desktop)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	s.books.Clock.Advance(time.Minute)
	_, err := s.staff.CancelOrder(t.Context(), order.ID, "A stolen card")
	ok.NoErr(err)
	p.Wait(`document.querySelector("#live .head").textContent.includes("Cancelled")`)
	p.Wait(`document.querySelector("#live").textContent.includes("A stolen card")`)
	p.IsClean()
}

// TestStreamsOfListsSayWhatChanged holds that a sale, an attempt of a delivery and an act of the log are signalled on
// the pages that show them, each opened with the state that its page showed.
func TestStreamsOfListsSayWhatChanged(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.endpoint(t)
	s.sell(t)
	s.status.Store(http.StatusBadGateway)
	s.count(t)
	deliveries, err := s.staff.ListDeliveries(t.Context(), s.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	ok.NoErr(err)
	const company = "/business/{companyId}"
	delivery := company + "/webhooks/deliveries/" + deliveries.Items[0].ID.String()
	s.books.Clock.Advance(10 * time.Minute)
	feeds := map[string]*feed{}
	for who, paths := range map[string][]string{
		viewer: {
			company + "/events", company + "/reports", company + "/settlements", company + "/webhooks", delivery,
			company + "/mail",
		},
		chief: {"/platform/money", "/platform/settlements", "/platform/audit", "/platform/companies"},
	} {
		for _, path := range paths {
			feeds[path] = s.openAt(t, who, s.stream(t, who, path))
		}
	}
	s.count(t) // The second attempt of the delivery fails, too.
	ok.Equal(feeds[delivery].next(), somethingChanged)
	s.sell(t)
	for _, path := range []string{company + "/events", company + "/reports", company + "/settlements"} {
		ok.Equal(feeds[path].next(), somethingChanged) // path
	}
	s.books.Clock.Advance(10 * time.Second) // The sums of all companies are read that often.
	s.count(t)
	ok.Equal(feeds[company+"/mail"].next(), somethingChanged)
	_, err = s.SendMails(t.Context())
	ok.NoErr(err)
	ok.Equal(feeds[company+"/mail"].next(), somethingChanged)
	ok.Equal(feeds["/platform/money"].next(), somethingChanged)
	ok.Equal(feeds[company+"/webhooks"].next(), somethingChanged)
	_, err = s.staff.RenameCompany(t.Context(), s.company, "Adire Live")
	ok.NoErr(err)
	for _, path := range []string{"/platform/settlements", "/platform/audit", "/platform/companies"} {
		ok.Equal(feeds[path].next(), somethingChanged) // path
	}
	// Nothing changes on a later page, in a period that is over, and where balances are read now and then.
	for who, paths := range map[string][]string{
		viewer: {company + "/reports?until=2026-01-05", company + "/mail?status=SENT"},
		chief: {
			"/platform/money?until=2026-01-05", "/platform/companies?order=FLOAT", "/platform/audit?cursor=" + s.later(t),
		},
	} {
		for _, path := range paths {
			ok.True(!s.get(t, who, path).has("hx-sse:connect")) // path
		}
	}
}

// later returns the cursor of the second page of the platform's log.
func (s *shop) later(t *testing.T) string {
	t.Helper()
	page, err := s.staff.ListAudit(t.Context(), uuid.Nil,
		ticketing.AuditFilter{PageParams: ticketing.PageParams{Limit: 1}})
	is.New(t).NoErr(err)
	return page.NextCursor
}
