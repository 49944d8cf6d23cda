package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// clientHeader names the client in the tests of the counter.
const clientHeader = "X-Client"

func limited(t *testing.T, limit int) func(client string) int {
	t.Helper()
	svc, err := ticketing.New(memory.New(), nil)
	is.New(t).NoErr(err)
	handler := newHandler(t, svc, &httpapi.Config{
		RateLimit: limit, ClientKey: func(r *http.Request) string { return r.Header.Get(clientHeader) },
		NewRequestID: func() string { return "same" }, Clock: new(clock).now,
	})
	return func(client string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set(clientHeader, client)
		return statusOf(handler, r)
	}
}

// Concurrent requests are counted one by one.
func TestRateLimitIsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	request := limited(t, 50)
	var passed atomic.Int64
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 25 {
				if request("one") == http.StatusNotFound {
					passed.Add(1)
				}
			}
		})
	}
	done.Wait()
	is.New(t).Equal(passed.Load(), int64(50))
}

// The counter keeps the latest 65,536 clients at most; it drops the oldest first.
func TestCounterIsBounded(t *testing.T) {
	t.Parallel()
	const kept = 1 << 16
	is := is.New(t)
	request := limited(t, 1)
	for i := range kept {
		is.Equal(request(strconv.Itoa(i)), http.StatusNotFound)
	}
	is.Equal(request("0"), http.StatusTooManyRequests) // full, and none dropped
	is.Equal(request("one more"), http.StatusNotFound)
	is.Equal(request("1"), http.StatusTooManyRequests)
	is.Equal(request("0"), http.StatusNotFound) // dropped
	is.Equal(request("2"), http.StatusTooManyRequests)
	is.Equal(request("1"), http.StatusNotFound) // dropped for "0"
}
