package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// A cart gives one order, whatever fails on the way, and the money moves once.
func TestOneOrderWhateverTheLineDoes(t *testing.T) {
	t.Parallel()
	tests := map[string][]fault{
		"nothing":                  nil,
		"the answer is lost":       {lostAnswer},
		"the line breaks":          {brokenConnection, brokenConnection},
		"the request is lost":      {neverArrived},
		"the answer is cut short":  {halfAnswer},
		"a page instead of it":     {afterCommit(page(http.StatusOK))},
		"500 after the commit":     {afterCommit(failed)},
		"500 before":               {failed},
		"429":                      {refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "1")},
		"a gateway":                {gateway},
		"an original in flight":    {conflicts},
		"still in flight":          {conflicts, conflicts, conflicts, conflicts, conflicts},
		"in flight, and lost, too": {conflicts, lostAnswer, conflicts},
		"all of it": {
			neverArrived, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "2"), afterCommit(failed), lostAnswer,
			gateway,
		},
	}
	for name, faults := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				got := w.buy(w.shop(), "10000.00")
				is.Equal(got.status, http.StatusOK)
				orders := w.sold()
				is.Equal(len(orders), 1)
				is.Equal(orders[0].Gross, 2*price)
				is.Equal(orders[0].Balances.FloatAfter, 1_000_000_00-2*price)
				is.True(strings.Contains(got.body, orders[0].ID.String()))
				is.Equal(len(w.sent), len(faults)+1)
				for _, sent := range w.sent {
					is.Equal(sent, w.sent[0]) // the identical body and key
				}
			}, faults...)
		})
	}
}

// A shop that gave up, or was stopped, gets its order with the same cart; so does the resumption at its start.
func TestCartSurvivesTheShop(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *world){
		"the buyer asks again": func(w *world) {
			if got := w.buy(w.shop(), "10000.00"); got.status != http.StatusOK {
				w.t.Errorf("got %d: %s", got.status, got.body)
			}
		},
		"the shop resumes": func(w *world) { w.shop().Resume(w.t.Context()) },
	}
	for name, again := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				got := w.buy(w.shop(), "10000.00")
				is.Equal(got.status, http.StatusServiceUnavailable)
				is.Equal(got.Error.Code, "CHECKOUT_PENDING")
				is.Equal(got.header.Get("Retry-After"), "5")
				again(w)
				is.Equal(len(w.sold()), 1)
				is.Equal(w.sent[len(w.sent)-1], w.sent[0])
				before := len(w.sent)
				w.shop().Resume(w.t.Context())
				is.Equal(len(w.sent), before) // no cart is open any more
			}, brokenConnection, brokenConnection, brokenConnection, gateway, gateway, neverArrived)
		})
	}
}

// A cart makes the same bytes after a restart, whatever the buyer's name and the price are.
func TestCartIsTheSameBytesAfterARestart(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		carts := 0
		unbounded := struct{ testing.TB }{w.t} // The deadline of a test means nothing on the bubble's clock.
		rapid.Check(unbounded, func(rt *rapid.T) {
			w.reprice(money.Amount(rapid.Int64Range(1, int64(money.MaxInput)).Draw(rt, "price")))
			carts++
			cart := w.cart(fmt.Sprintf("cart-%04d", carts), rapid.String().Draw(rt, "fullname"), "999999999999999.99")
			w.sent, w.faults = nil, slices.Repeat([]fault{neverArrived}, 12)
			for range 2 {
				is.Equal(post(w.t, w.shop(), "/checkout", cart, "").Error.Code, "CHECKOUT_PENDING")
			}
			is.Equal(len(w.sent), 12)
			is.Equal(len(slices.Compact(w.sent)), 1)
		})
	})
}

// Ten clicks on one cart make one order.
func TestImpatientBuyerBuysOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	shop := w.shop()
	answers := make([]answer, 10)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i] = w.buy(shop, "10000.00") })
	}
	clicks.Wait()
	for _, got := range answers {
		is.Equal(got.status, http.StatusOK)
		is.Equal(got.body, answers[0].body)
	}
	is.Equal(len(w.sold()), 1)
}

// A wait is never shorter than Retry-After, and otherwise random within a bound that doubles up to a cap.
func TestWaitsBetweenAttempts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
		waits := w.waits()
		is.Equal(len(waits), 5)
		is.True(waits[0] >= 7*time.Second)
		for i, d := range waits[1:] {
			longest := min(250*time.Millisecond<<(i+1), 5*time.Second) + time.Millisecond
			is.True(0 < d && d <= longest)
		}
	}, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "7"), neverArrived, neverArrived, neverArrived,
		neverArrived)
}

// If the server asks for a longer wait than the shop allows, the call ends without a retry.
func TestLongRetryAfterEndsTheCall(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{31, 3600} {
		t.Run(strconv.Itoa(seconds), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				began := time.Now()
				got := w.buy(w.shop(), "10000.00")
				is.Equal(got.status, http.StatusTooManyRequests)
				is.Equal(got.Error.Code, string(ticketing.CodeRateLimited))
				is.Equal(time.Since(began), time.Duration(0))
				is.Equal(len(w.sent), 1)
				is.Equal(len(w.sold()), 0)
			}, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, strconv.Itoa(seconds)))
		})
	}
}

// An attempt has ten seconds, and a buyer gets an answer after 75, however silent the API is. The cart is kept.
func TestPatienceHasAnEnd(t *testing.T) {
	t.Parallel()
	silent := slices.Repeat([]fault{lostAnswer}, 5)
	tests := map[string]struct {
		faults      []fault
		least, most time.Duration
	}{
		"the attempts end": {append(silent, lostAnswer), 62 * time.Second, 68 * time.Second},
		"the time ends":    {slices.Concat(silent, []fault{conflicts}, silent), 75 * time.Second, 75 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				began := time.Now()
				is.Equal(w.buy(w.shop(), "10000.00").Error.Code, "CHECKOUT_PENDING")
				took := time.Since(began)
				is.True(tt.least <= took && took <= tt.most)
				w.faults = nil
				is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
				is.Equal(len(w.sold()), 1)
				is.Equal(len(slices.Compact(w.sent)), 1)
			}, tt.faults...)
		})
	}
}

// A buyer who closes the page does not interrupt a purchase that has begun.
func TestBuyerWhoLeaves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		ctx, leave := context.WithCancel(w.t.Context())
		w.faults = []fault{func(*http.Request, func() *http.Response) (*http.Response, error) {
			leave()
			return nil, errLine
		}}
		w.shop().Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/checkout",
			strings.NewReader(w.cart("cart-0001", buyerName, "10000.00"))))
		is.Equal(len(w.sent), 2)
		is.Equal(len(w.sold()), 1)
		w.shop().Resume(w.t.Context())
		is.Equal(len(w.sent), 2)
	})
}

// A temporary refusal that stays is returned. If an attempt got no answer, CHECKOUT_PENDING is returned instead. The
// cart is kept in both cases.
func TestRefusalThatStays(t *testing.T) {
	t.Parallel()
	limited := refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "1")
	tests := map[string]struct {
		first, then fault
		status      int
		code        string
	}{
		"a conflict":          {afterCommit(conflicts), conflicts, http.StatusConflict, "CONFLICT"},
		"a conflict in doubt": {brokenConnection, conflicts, http.StatusServiceUnavailable, "CHECKOUT_PENDING"},
		"a limit in doubt":    {brokenConnection, limited, http.StatusServiceUnavailable, "CHECKOUT_PENDING"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				w.faults = append([]fault{tt.first}, slices.Repeat([]fault{tt.then}, 6)...)
				got := w.buy(w.shop(), "10000.00")
				is.Equal(got.status, tt.status)
				is.Equal(got.Error.Code, tt.code)
				is.True(len(w.sent) >= 6)
				is.True(w.at[len(w.at)-1].Sub(w.at[0]) > 4*time.Second) // The shop waited for a while.
				w.faults = nil
				w.reprice(price + 100) // What was bought keeps its price.
				is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
				is.Equal(len(slices.Compact(w.sent)), 1)
			})
		})
	}
}

// After INVENTORY_UNAVAILABLE the shop quotes again: it accepts a lower price, and asks the buyer for a higher one.
func TestPriceMovesBetweenQuoteAndCheckout(t *testing.T) {
	t.Parallel()
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(is *is.I, w *world) {
			w.faults = []fault{w.repriced(price - 100)}
			is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
			is.Equal(w.sold()[0].Gross, 2*(price-100))
		})
	})
	t.Run("down, after a request that was lost", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(is *is.I, w *world) {
			w.faults = []fault{neverArrived, w.repriced(price - 100)}
			is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
			is.Equal(w.sold()[0].Gross, 2*(price-100))
		})
	})
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(is *is.I, w *world) {
			w.faults = []fault{w.repriced(price + 100)}
			got := w.buy(w.shop(), "10000.00")
			is.Equal(got.status, http.StatusConflict)
			is.Equal(got.Error.Code, "PRICE_CHANGED")
			is.Equal(got.Quote.Total, 2*(price+100))
			is.True(strings.Contains(got.body, `"total":{"amount":"10002.00","currency":"NGN"}`))
			is.Equal(len(w.sold()), 0)
			w.shop().Resume(w.t.Context())
			is.Equal(len(w.sold()), 0) // nothing is bought before the buyer agrees
			is.Equal(w.buy(w.shop(), "10002.00").status, http.StatusOK)
			is.Equal(len(w.sold()), 1)
		})
	})
}
