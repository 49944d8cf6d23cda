package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
)

// leaving is a store whose database becomes unavailable after a number of transactions.
type leaving struct {
	driver.Store

	left atomic.Int64
}

func (l *leaving) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	if l.left.Add(-1) < 0 {
		return fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
	}
	return l.Store.View(ctx, fn)
}

func (l *leaving) Snapshot(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	if l.left.Add(-1) < 0 {
		return fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
	}
	return l.Store.Snapshot(ctx, fn)
}

func (l *leaving) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	if l.left.Add(-1) < 0 {
		return fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
	}
	return l.Store.Update(ctx, fn)
}

// TestDatabaseGoesAwayWithinARequest makes the database unavailable at each moment of each page and act.
func TestDatabaseGoesAwayWithinARequest(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	store := &leaving{Store: s.store}
	svc, err := ticketing.New(store, &ticketing.Config{Clock: s.clock.now, Logger: slog.New(slog.DiscardHandler)})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: s.clock.now, Mailer: mailbox(s.mails)})
	ok.NoErr(err)
	in, err := s.Accounts().SignIn(t.Context(), s.users[chief], ticketing.SignInPasskey, ticketing.Client{})
	ok.NoErr(err)
	send := func(after int64, method, path string) {
		store.left.Store(after)
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Host = "localhost"
		r.AddCookie(&http.Cookie{Name: "ticketing", Value: in.Secret})
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		// An earlier refusal may still be shown, and so may a page without the link to the platform.
		if gone := store.left.Load() < 0; gone && after == 0 && w.Code != http.StatusServiceUnavailable ||
			gone && w.Code == http.StatusConflict && strings.Contains(path, "/books/") ||
			w.Code == http.StatusInternalServerError ||
			strings.Contains(w.Body.String(), "10.0.0.1") || w.Header().Get("X-Request-Id") == "" ||
			w.Body.Len() == 0 && w.Code != http.StatusSeeOther {
			t.Errorf("%s %s after %d transactions: %d\n%s", method, path, after, w.Code, w.Body)
		}
	}
	for _, prefix := range []string{"", "/api/v2"} {
		for after := range int64(8) {
			for _, page := range console.Pages() {
				send(after, http.MethodGet, prefix+s.filled(page.Path))
			}
			for _, act := range console.Acts() {
				if act.Name != "sign_out" && act.Name != "staff.remove" {
					send(after, http.MethodPost, prefix+s.filled(act.Path))
				}
			}
		}
	}
}
