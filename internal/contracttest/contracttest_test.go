package contracttest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// Transport checks the responses of the API, and only those. The response can be read afterwards as it came.
func TestTransportHoldsWhatIsTheAPIs(t *testing.T) {
	t.Parallel()
	api := contracttest.New(t.Error, ticketingtest.New(t, nil).Service, nil)
	for _, test := range []struct {
		name, path string
		wrong      func(header http.Header) // changes the response
		isAPI      func(*http.Request) bool
		found      bool
	}{
		{name: "right", path: httpapi.DefaultPrefix + "/events"},
		{name: "a page of the contract", path: httpapi.DefaultPrefix + "/openapi.json"},
		{
			name: "a header", path: httpapi.DefaultPrefix + "/events", wrong: func(h http.Header) { h.Set("X-New", "1") },
			found: true,
		},
		{
			name: "no header", path: httpapi.DefaultPrefix + "/events", wrong: func(h http.Header) { h.Del("Www-Authenticate") },
			found: true,
		},
		{
			name: "in chunks", path: httpapi.DefaultPrefix + "/events",
			wrong: func(h http.Header) { h.Set("Transfer-Encoding", "chunked") }, found: true,
		},
		{name: "the prefix", path: httpapi.DefaultPrefix, wrong: func(h http.Header) { h.Set("X-New", "1") }, found: true},
		{name: "a neighbour", path: httpapi.DefaultPrefix + "2/events", wrong: func(h http.Header) { h.Set("X-New", "1") }},
		{
			name: "a neighbour that is its", path: "/events", isAPI: func(*http.Request) bool { return true },
			wrong: func(h http.Header) { h.Set("X-New", "1") }, found: true,
		},
		{
			name: "not its", path: httpapi.DefaultPrefix + "/events", isAPI: func(*http.Request) bool { return false },
			wrong: func(h http.Header) { h.Set("X-New", "1") },
		},
		{
			name: "cut off", path: httpapi.DefaultPrefix + "/events",
			wrong: func(h http.Header) { h.Set("Content-Length", "9999") },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var sent string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorder := httptest.NewRecorder()
				api.ServeHTTP(recorder, r)
				for name, values := range recorder.Header() {
					w.Header()[name] = slices.Clone(values)
				}
				if test.wrong != nil {
					test.wrong(w.Header())
				}
				sent = recorder.Body.String()
				w.WriteHeader(recorder.Code)
				_, _ = io.WriteString(w, sent)
			}))
			t.Cleanup(server.Close)
			var told []any
			fail := func(wrong ...any) { told = append(told, wrong...) }
			request, err := http.NewRequest(http.MethodGet, server.URL+test.path, http.NoBody)
			is.NoErr(err)
			request.Header.Set("Accept-Encoding", "identity")
			response, err := contracttest.Transport(fail, http.DefaultTransport, test.isAPI).RoundTrip(request)
			is.NoErr(err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			is.Equal(errors.Is(err, io.ErrUnexpectedEOF), test.name == "cut off")
			is.Equal(string(body), sent)
			is.Equal(len(told) > 0, test.found)
		})
	}
}

// New returns a handler of the API that reports an invalid response: here one with a malformed request id.
func TestNewHoldsEveryAnswer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	var told []any
	fail := func(wrong ...any) { told = append(told, wrong...) }
	ask := func(config *httpapi.Config, method string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, httpapi.DefaultPrefix+"/events", strings.NewReader(""))
		contracttest.New(fail, shop.Service, config).ServeHTTP(w, r)
		is.Equal(w.Code, http.StatusUnauthorized)
	}
	ask(nil, http.MethodGet)
	ask(nil, http.MethodHead)
	is.Equal(len(told), 0)
	ask(&httpapi.Config{NewRequestID: func() string { return "no id\n" }}, http.MethodGet)
	is.Equal(len(told), 1)
}
