package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
)

// kinds returns one operation for each rule of retries.
func kinds(event ticketing.Event) map[string]func(context.Context, *client.Client) error {
	return map[string]func(context.Context, *client.Client) error{
		"read": func(ctx context.Context, api *client.Client) error {
			_, err := api.GetEvent(ctx, event.ID)
			return err
		},
		"quote": func(ctx context.Context, api *client.Client) error {
			_, err := api.Quote(ctx, ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
			})
			return err
		},
		"keyed": func(ctx context.Context, api *client.Client) error {
			_, err := api.Checkout(ctx, "cart-0001", ticketingtest.Basket(event.ID, "VIP", 10_00, 1))
			return err
		},
		"patch": func(ctx context.Context, api *client.Client) error {
			title := "Juju Night"
			_, err := api.UpdateEvent(ctx, event.ID, ticketing.UpdateEventParams{Title: &title})
			return err
		},
		"delete": func(ctx context.Context, api *client.Client) error {
			_, err := api.CancelInventory(ctx, event.ID, "VIP")
			return err
		},
	}
}

// A call is retried with the identical request if it may be retried, and not otherwise. ErrAmbiguous says whether it
// may have been done.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	race.Leave(t, "calls that one client makes one after the other")
	const always, safely, never = "read quote keyed patch delete", "read quote keyed", ""
	const doubtful, plain = true, false
	for name, test := range map[string]struct {
		fault    fault
		again    string
		doubtful bool // for a call that changes something, if it is not retried
	}{
		"unreached":         {unreached, safely, doubtful},
		"undialled":         {undialled, always, plain},
		"unanswered":        {unanswered, always, plain},
		"hung up":           {hungUp, safely, doubtful},
		"broken":            {broken, safely, doubtful},
		"no answer in time": {lost, safely, doubtful},
		"cut off":           {cut, safely, doubtful},
		"garbled":           {garbled, safely, doubtful},
		"hollow":            {hollow, safely, doubtful},
		"endless":           {endless, safely, doubtful},
		"500":               {afterwards(500), safely, doubtful},
		"502":               {afterwards(502), safely, doubtful},
		"503":               {instead(503, ticketing.CodeInternal, "1"), safely, doubtful},
		"429":               {limited(1), always, plain},
		"400":               {instead(400, ticketing.CodeInvalidRequest, ""), never, plain},
		"401":               {instead(401, ticketing.CodeAuthenticationFailed, ""), never, plain},
		"403":               {instead(403, ticketing.CodePermissionDenied, ""), never, plain},
		"404":               {instead(404, ticketing.CodeNotFound, ""), never, plain},
		"409 cut off":       {cutRefusal, safely, doubtful},
		"409":               {instead(409, ticketing.CodeConflict, "1"), never, plain},
		"302":               {instead(302, "", ""), never, doubtful},
		"403 of a proxy":    {withheld(403), never, doubtful},
	} {
		for kind := range strings.FieldsSeq(always) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					is := is.New(t)
					shop, event, l, api := connect(t, client.Config{})
					l.faults = []fault{test.fault}
					err := kinds(event)[kind](t.Context(), api)
					if strings.Contains(test.again, kind) {
						is.NoErr(err)
						is.Equal(len(l.sent), 2)
						is.Equal(l.sent[0].what, l.sent[1].what)
						is.Equal(l.sent[0].id, l.sent[1].id)
						return
					}
					is.True(err != nil)
					is.Equal(len(l.sent), 1)
					is.True(strings.Contains(err.Error(), "request "+l.sent[0].id))
					changes := kind != "read" && kind != "quote"
					is.Equal(errors.Is(err, client.ErrAmbiguous), test.doubtful && changes)
					is.True(!strings.Contains(err.Error(), strings.Split(shop.APIKey, ".")[2]))
				})
			})
		}
	}
}

// The number of attempts is bounded. The error is the last failure, with ErrAmbiguous if any attempt left it open.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		shop, event, l, api := connect(t, client.Config{Attempts: 3})
		basket := ticketingtest.Basket(event.ID, "VIP", 10_00, 1)
		l.faults = []fault{unreached, afterwards(500), limited(1)}
		_, err := api.Checkout(t.Context(), "cart-0001", basket)
		is.Equal(len(l.sent), 3)
		is.True(errors.Is(err, client.ErrAmbiguous) && errors.Is(err, ticketing.CodeRateLimited))
		refused, ok := errors.AsType[*client.Error](err)
		is.True(ok)
		is.Equal(refused.Status, http.StatusTooManyRequests)
		is.Equal(refused.RetryAfter, time.Second)

		// A refusal after an attempt without an answer does not settle what that attempt did.
		l.faults = []fault{broken, instead(409, ticketing.CodeVerificationRequired, "")}
		_, err = api.Checkout(t.Context(), "cart-0002", basket)
		is.True(errors.Is(err, client.ErrAmbiguous) && errors.Is(err, ticketing.CodeVerificationRequired))
		order, err := api.Checkout(t.Context(), "cart-0002", basket)
		is.NoErr(err)
		page, err := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{})
		is.NoErr(err)
		is.Equal(page.Items[0], order)
		is.Equal(len(page.Items), 2)

		// The error of a transport holds its reason and the request id.
		l.faults = []fault{unreached, unreached, unreached}
		_, err = api.GetEvent(client.WithRequestID(t.Context(), "look-1"), event.ID)
		is.True(errors.Is(err, errLine) && strings.Contains(err.Error(), "look-1"))
		is.True(!errors.Is(err, client.ErrAmbiguous)) // A read changes nothing.
	})
}

// A nil config has the documented attempts and times.
func TestDefaults(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{})
		l.faults = []fault{lost, lost, lost, lost, lost, lost}
		began := time.Now()
		_, err := api.GetEvent(t.Context(), event.ID)
		is.True(errors.Is(err, context.DeadlineExceeded))
		is.Equal(len(l.sent), 5)
		waits, least := time.Duration(0), 125*time.Millisecond
		for _, wait := range l.waits() {
			is.True(wait > 30*time.Second+least && wait <= 30*time.Second+2*least)
			waits, least = waits+wait, 2*least
		}
		is.Equal(time.Since(began), waits+30*time.Second)
	})
}

// Waits double up to the longest, each between half of it and all of it, and differ.
func TestWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		var told []time.Duration
		_, event, l, api := connect(t, client.Config{
			Attempts: 10, FirstWait: time.Second, LongestWait: 5 * time.Second,
			OnRetry: func(_ context.Context, failure error, wait time.Duration) {
				is.True(errors.Is(failure, errLine))
				told = append(told, wait)
			},
		})
		for range 9 {
			l.faults = append(l.faults, unreached)
		}
		_, err := api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.Equal(l.waits(), told)
		is.Equal(len(told), 9)
		distinct := map[time.Duration]bool{}
		for i, seconds := range []int{1, 2, 4, 5, 5, 5, 5, 5, 5} {
			longest := time.Duration(seconds) * time.Second
			is.True(told[i] > longest/2 && told[i] <= longest)
			distinct[told[i]] = true
		}
		is.True(len(distinct) > 5)
	})
}

// The shortest and the longest possible waits work like any other.
func TestWaitsAtTheirLimits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		const centuries = time.Duration(1<<63 - 1)
		for _, test := range []struct{ first, longest, atMost time.Duration }{
			{1, 1, 1}, {1, 3, 3}, {time.Hour, 1, 1}, {1, centuries, 1 << 8}, {centuries, 2 * time.Second, 2 * time.Second},
		} {
			_, event, l, api := connect(t, client.Config{Attempts: 9, FirstWait: test.first, LongestWait: test.longest})
			l.faults = []fault{unreached, unreached, unreached, unreached, unreached, unreached, unreached, unreached}
			_, err := api.GetEvent(t.Context(), event.ID)
			is.NoErr(err)
			for _, wait := range l.waits() {
				is.True(wait > 0 && wait <= test.atMost)
			}
		}
	})
}

// The next attempt comes after Retry-After, given in seconds or as a date. Jitter spreads clients that got the same
// value. A Retry-After that is too long ends the call.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{})
		date := time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)
		l.faults = []fault{limited(7), instead(503, ticketing.CodeInternal, "60"), instead(503, "", date)}
		began := time.Now()
		_, err := api.Checkout(t.Context(), "cart-0001", ticketingtest.Basket(event.ID, "VIP", 10_00, 1))
		is.NoErr(err)
		waits := l.waits()
		is.True(waits[0] > 7*time.Second && waits[0] <= 7*time.Second+client.DefaultFirstWait/2)
		is.True(waits[1] > 60*time.Second && waits[1] <= 60*time.Second+client.DefaultFirstWait)
		is.True(waits[2] < client.DefaultLongestWait) // That date was over.

		l.sent, l.faults = nil, []fault{instead(503, "", began.Add(100*time.Second).UTC().Format(http.TimeFormat))}
		_, err = api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.True(!l.sent[1].at.Before(began.Add(100 * time.Second)))

		for _, none := range []string{"-5", "0", "1.5", "soon", "", "Mon, 02 Jan 1006 15:04:05 GMT"} {
			l.sent, l.faults = nil, []fault{instead(503, "", none)}
			_, err = api.GetEvent(t.Context(), event.ID)
			is.NoErr(err)
			is.True(l.waits()[0] <= client.DefaultFirstWait)
		}

		for _, tooLong := range []string{"91", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
			l.sent, l.faults = nil, []fault{instead(429, ticketing.CodeRateLimited, tooLong)}
			at := time.Now()
			_, err = api.GetEvent(t.Context(), event.ID)
			refused, ok := errors.AsType[*client.Error](err)
			is.True(ok && refused.RetryAfter > 90*time.Second)
			is.Equal(len(l.sent), 1)
			is.Equal(time.Now(), at) // at once
		}
	})
}

// LongestRetryAfter bounds the wait that an answer asks for, not the client's own waits, which may be longer.
func TestLongestRetryAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{FirstWait: 20 * time.Second, LongestRetryAfter: 5 * time.Second})
		l.faults = []fault{unreached, limited(5)}
		_, err := api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		for _, wait := range l.waits() {
			is.True(wait > 5*time.Second)
		}
		l.sent, l.faults = nil, []fault{limited(6)}
		_, err = api.GetEvent(t.Context(), event.ID)
		is.True(errors.Is(err, ticketing.CodeRateLimited))
		is.Equal(len(l.sent), 1)
	})
}

// The timeout bounds one attempt; the context bounds all. The client does not begin a wait that the context cannot
// outlast.
func TestTimes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{Timeout: 3 * time.Second, FirstWait: time.Second})
		l.faults = []fault{lost}
		began := time.Now()
		_, err := api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.True(time.Since(began) > 3*time.Second && time.Since(began) <= 4*time.Second)

		basket := ticketingtest.Basket(event.ID, "VIP", 10_00, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		l.sent, l.faults = nil, []fault{lost}
		began = time.Now()
		_, err = api.Checkout(ctx, "cart-0001", basket)
		is.Equal(time.Since(began), 2*time.Second)
		is.True(errors.Is(err, context.DeadlineExceeded) && errors.Is(err, client.ErrAmbiguous))
		is.Equal(len(l.sent), 1)

		_, err = api.Checkout(ctx, "cart-0002", basket) // The context has ended: nothing is sent, nothing is ambiguous.
		is.True(errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrAmbiguous))
		is.Equal(len(l.sent), 1)

		short, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		l.sent, l.faults = nil, []fault{limited(30)}
		began = time.Now()
		_, err = api.GetEvent(short, event.ID)
		is.True(errors.Is(err, ticketing.CodeRateLimited))
		is.Equal(time.Since(began), time.Duration(0))

		ended, end := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, end)
		l.sent, l.faults = nil, []fault{limited(30)}
		began = time.Now()
		_, err = api.GetEvent(ended, event.ID)
		is.Equal(time.Since(began), 10*time.Second)
		is.True(errors.Is(err, context.Canceled) && errors.Is(err, ticketing.CodeRateLimited))
		is.Equal(len(l.sent), 1)

		// If a context ends at the same time as the answer, the error has both.
		during, stop := context.WithCancel(t.Context())
		l.sent, l.faults = nil, []fault{func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
			stop()
			return afterwards(503)(r, serve)
		}}
		_, err = api.Checkout(during, "cart-0003", basket)
		is.True(errors.Is(err, context.Canceled) && errors.Is(err, client.ErrAmbiguous))
		refused, ok := errors.AsType[*client.Error](err)
		is.True(ok && refused.Status == 503)
		is.Equal(len(l.sent), 1)
	})
}

// The error names the timeout of an attempt, which a caller may not have set; for package net it is a timeout.
func TestTimeoutsAreReported(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{Attempts: 1, Timeout: 3 * time.Second})
		l.faults = []fault{unanswered}
		_, err := api.GetEvent(t.Context(), event.ID)
		is.True(errors.Is(err, context.DeadlineExceeded))
		is.True(strings.Contains(err.Error(), "no whole answer within 3s"))
		timeout, ok := errors.AsType[net.Error](err)
		is.True(ok && timeout.Timeout())
	})
}

// A request has a request id of the contract, whatever its caller asks for, and errors contain that id.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		next := "made-1"
		_, event, l, api := connect(t, client.Config{Attempts: 1, NewRequestID: func() string { return next }})
		ask := func(ctx context.Context) string {
			l.sent, l.faults = nil, []fault{unreached}
			_, err := api.GetEvent(ctx, event.ID)
			is.True(strings.Contains(err.Error(), "request "+l.sent[0].id+":"))
			return l.sent[0].id
		}
		is.Equal(ask(t.Context()), "made-1")
		l.faults = []fault{func(*http.Request, func() *http.Response) (*http.Response, error) {
			response := made(http.StatusNotFound, "", "")
			// The service uses another id, under which it knows the request.
			response.Header.Set("X-Request-Id", "theirs-1")
			return response, nil
		}}
		_, err := api.GetEvent(t.Context(), event.ID)
		refused, ok := errors.AsType[*client.Error](err)
		is.True(ok && refused.RequestID == "theirs-1")
		is.Equal(ask(client.WithRequestID(t.Context(), "mine-1")), "mine-1")
		for _, none := range []string{"", "a\nb", "-a", strings.Repeat("a", 129)} {
			_, err := uuid.Parse(ask(client.WithRequestID(t.Context(), none)))
			is.NoErr(err)
			next = none
			_, err = uuid.Parse(ask(t.Context()))
			is.NoErr(err)
		}
	})
}

// Whatever the faults, and however often the same checkout is made, there is one order. An error without ErrAmbiguous
// is returned only if no order was made.
func TestOneCheckoutIsOneOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		shop, event, l, api := connect(t, client.Config{Attempts: 3, Timeout: time.Second})
		shop.Inventory(t, event.ID, "REGULAR", 1_00, 1000)
		shop.Inventory(t, event.ID, "REGULAR", 1_00, 1000)
		faults := []fault{
			unreached, broken, lost, cut, garbled, hollow, afterwards(500), afterwards(503), limited(1),
			instead(409, ticketing.CodeConflict, ""), instead(503, ticketing.CodeInternal, "2"),
		}
		sold := 0
		unbounded := struct{ testing.TB }{t} // The deadline of a test means nothing on the bubble's clock.
		rapid.Check(unbounded, func(rt *rapid.T) {
			is := is.New(t)
			l.sent, l.faults = nil, nil
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(faults)-1), 0, 9).Draw(rt, "faults") {
				l.faults = append(l.faults, faults[i])
			}
			key, basket := uuid.NewString(), ticketingtest.Basket(event.ID, "REGULAR", 1_00, 1)
			basket.Buyer.Email = key + "@example.com"
			settled, doubt := false, false
			for range 10 { // Each call meets one fault or more.
				order, err := api.Checkout(t.Context(), key, basket)
				page, listErr := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{
					PageParams: ticketing.PageParams{Limit: 1},
				})
				is.NoErr(listErr)
				done := len(page.Items) > 0 && page.Items[0].Buyer.Email == basket.Buyer.Email
				if err == nil {
					is.True(done)
					is.Equal(order, page.Items[0])
					settled = true
					break
				}
				doubt = doubt || errors.Is(err, client.ErrAmbiguous)
				is.True(!done || doubt) // There is no order if no error was ambiguous.
			}
			is.True(settled)
			sold++
			for _, sent := range l.sent {
				is.Equal(sent.what, l.sent[0].what)
			}
		})
		is := is.New(t)
		orders := 0
		for page, filter := (ticketing.Page[ticketing.Order]{HasMore: true}), (ticketing.OrderFilter{}); page.HasMore; {
			var err error
			page, err = shop.ListOrders(t.Context(), shop.Caller, filter)
			is.NoErr(err)
			orders += len(page.Items)
			filter.Cursor = page.NextCursor
		}
		is.Equal(orders, sold)
	})
}

// Many goroutines share a client.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop, api := serve(t)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 10_00, 20)
	ids := make([]uuid.UUID, 20)
	var buyers sync.WaitGroup
	for i := range ids {
		buyers.Go(func() {
			order, err := api.Checkout(t.Context(), "cart-"+strconv.Itoa(1000+i/2),
				ticketingtest.Basket(event.ID, "VIP", 10_00, 1))
			if err != nil && !errors.Is(err, ticketing.CodeConflict) { // The other call with its key is in progress.
				t.Error(err)
			}
			ids[i] = order.ID
		})
	}
	buyers.Wait()
	orders := 0
	for _, err := range api.Orders(t.Context(), ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 3}}) {
		is.NoErr(err)
		orders++
	}
	is.Equal(orders, 10)
}
