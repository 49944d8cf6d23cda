package console_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

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
