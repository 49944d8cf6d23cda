package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/store/memory"
)

// heldStore blocks the first reads of requests until it is released.
type heldStore struct {
	driver.Store

	mu      sync.Mutex
	hold    int
	entered chan struct{}
	release chan struct{}
}

func (s *heldStore) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	s.mu.Lock()
	held := s.hold > 0 && driver.PurposeOf(ctx) == driver.PurposeRequest
	if held {
		s.hold--
	}
	s.mu.Unlock()
	if held {
		s.entered <- struct{}{}
		<-s.release
	}
	return s.Store.View(ctx, fn)
}

// A company that uses up its slots gets 503 with Retry-After for the next call, without an error in the log. Another
// company sells meanwhile. The company's calls succeed again as soon as a slot is free.
func TestACrowdIsAskedToRetry(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const slots = 4
	store := &heldStore{Store: memory.New(), entered: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(store.release) })
	defer release()
	d := deployOn(t, store, nil)
	neighbour := d.issue(t, d.newCompany(t), ticketing.AllGrants()...)
	event := d.call(t, "POST", "/events", neighbour, keyed("event-0001"), `{"title":"Highlife",
		"date":"2030-12-24","startsAt":"19:00","endsAt":"23:00","timezone":"Africa/Lagos",
		"imageUrl":"https://images.example/a.jpg","ticketCategories":["VIP"],"status":"PUBLISHED"}`)
	is.Equal(event.status, http.StatusCreated)
	var made struct{ Data struct{ ID string } }
	is.NoErr(json.Unmarshal([]byte(event.body), &made))
	id := made.Data.ID
	is.Equal(d.call(t, "POST", "/events/"+id+"/inventory", neighbour, keyed("batch-0001"), `{"tier":"VIP",
		"title":"Seat","unitPrice":"100.00","currency":"NGN","isFree":false,"quantity":3,"status":"AVAILABLE"}`).status,
		http.StatusCreated)

	store.mu.Lock()
	store.hold = slots
	store.mu.Unlock()
	held := make(chan answer, slots)
	for range slots {
		go func() { held <- d.call(t, "GET", "/orders?limit=100", d.key, nil, "") }()
		<-store.entered
	}
	refused := make(chan answer, 1)
	go func() { refused <- d.call(t, "GET", "/orders", d.key, nil, "") }()
	for i := range 3 {
		sold := d.call(t, "POST", "/checkouts", neighbour, keyed(fmt.Sprintf("order-000%d", i)),
			`{"eventId":"`+id+`","buyer":{"email":"ada@example.com"},"lines":[{"tier":"VIP","quantity":1,
			"expectedUnitPrice":"100.00","currency":"NGN"}]}`)
		is.Equal(sold.status, http.StatusCreated)
		is.Equal(d.call(t, "GET", "/orders", neighbour, nil, "").status, http.StatusOK)
	}
	got := <-refused
	is.Equal(got.status, http.StatusServiceUnavailable)
	is.Equal(got.header.Get("Retry-After"), "1")
	var body struct {
		Error struct{ Code, Message string }
	}
	is.NoErr(json.Unmarshal([]byte(got.body), &body))
	is.Equal(body.Error.Code, "INTERNAL_ERROR")
	is.Equal(body.Error.Message, "An unexpected error occurred.")
	is.Equal(d.log.lines(t, "internal error"), nil)
	release()
	for range slots {
		is.Equal((<-held).status, http.StatusOK)
	}
	is.Equal(d.call(t, "GET", "/orders", d.key, nil, "").status, http.StatusOK)
}

// slowWriter is a client that reads no byte until it is released.
type slowWriter struct {
	http.ResponseWriter

	writing chan struct{}
	release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.writing <- struct{}{}
	<-w.release
	return w.ResponseWriter.Write(p)
}

// Clients that read their pages slowly hold no slots of their company.
func TestSlowClientsHoldNoSlots(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, CompanySlots: 1,
	})
	is.NoErr(err)
	staff := svc.As(ticketing.Staff("test"))
	company, err := staff.CreateCompany(t.Context(), "Lagos Live")
	is.NoErr(err)
	_, err = staff.ApproveVerification(t.Context(), company.ID, ticketing.ApprovalParams{})
	is.NoErr(err)
	key, err := staff.IssueAPIKey(t.Context(), company.ID, "test", ticketing.AllGrants())
	is.NoErr(err)
	handler := httpapi.New(svc, &httpapi.Config{RateLimit: -1, Logger: slog.New(slog.DiscardHandler)})
	const clients = 3
	writing, release, done := make(chan struct{}), make(chan struct{}), make(chan int, clients)
	for range clients {
		go func() {
			answered := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/public/v1/orders", nil)
			request.Header.Set("Authorization", "Bearer "+key.Key)
			handler.ServeHTTP(&slowWriter{answered, writing, release}, request)
			told := contracttest.Answer{Status: answered.Code, Header: answered.Header(), Body: answered.Body.String()}
			if err := contracttest.Held(httpapi.DefaultPrefix, request, told, true); err != nil {
				t.Error(err)
			}
			done <- answered.Code
		}()
		<-writing // The one before it still writes.
	}
	close(release)
	for range clients {
		is.Equal(<-done, http.StatusOK)
	}
}
