package console_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// wire are the messages to PostgreSQL since it was last cleared: how many, and the names of the statements that the
// store observes. The beginning and the end of a Snapshot are messages without a name.
type wire struct {
	mu    sync.Mutex
	count int
	names []string
}

func (w *wire) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.names = 0, nil
}

func (w *wire) read() (count int, names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count, slices.Clone(w.names)
}

// newWiredShop returns a shop on PostgreSQL, and the messages that it sends.
func newWiredShop(t *testing.T) (*shop, *wire) {
	t.Helper()
	ok, sent := is.New(t), new(wire)
	dsn, err := url.Parse(testdb.DSN(t))
	ok.NoErr(err)
	proxy := faultproxy.New(t, dsn.Host)
	dsn.Host = proxy.Addr()
	proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		sent.mu.Lock()
		defer sent.mu.Unlock()
		if !m.Backend && m.Type == 'Q' {
			sent.count++
		}
		return faultproxy.Pass
	})
	db := testdb.Open(t, dsn.String(), &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		sent.mu.Lock()
		defer sent.mu.Unlock()
		sent.names = append(sent.names, statement.Name)
	}})
	return newShopOn(t, db), sent
}

// TestMessages checks how many messages a page sends to PostgreSQL, since each costs a round trip. The first request
// of each page may send more.
func TestMessages(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	s, sent := newWiredShop(t)
	_, err := s.staff.AddMember(t.Context(), s.company, ticketing.AddMemberParams{
		Email: address(chief), Name: chief, Role: ticketing.RoleOwner,
	})
	ok.NoErr(err)
	order := s.sellTo(t, "ngozi@example.com", 2)
	for range 9 {
		s.sellTo(t, "ngozi@example.com", 1)
	}
	get := func(path string) func() page { return func() page { return s.get(t, chief, path) } }
	for _, one := range []struct {
		name string
		open func() page
		want int
	}{
		{"books", get("/platform/books"), 4},
		{"order", get(orders + "/" + order.ID.String()), 13},
		{"orders", get(orders), 5},
		{"question before an erasure", func() page {
			return s.post(t, chief, "/business/{companyId}/buyers/erase/ask", "email", "ngozi@example.com")
		}, 4},
		{"buyers", get("/business/{companyId}/buyers"), 3},
		{"events", get("/business/{companyId}/events"), 6},
		{"overview", get("/business/{companyId}"), 24},
		{"account", get("/account"), 4},
	} {
		one.open()
		sent.clear()
		ok.Equal(one.open().StatusCode, http.StatusOK) // one.name
		count, names := sent.read()
		if count != one.want {
			t.Errorf("%s: %d messages, want %d: %q", one.name, count, one.want, names)
		}
	}
}
