package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
)

// The document is checked once, before anything else is sent, and without the API key.
func TestContractIsCheckedFirst(t *testing.T) {
	t.Parallel()
	const page = `<!doctype html><title>Tickets</title>`
	for name, test := range map[string]struct {
		status int
		body   string
		right  bool
	}{
		"it is":         {200, `{"info":{"title":"Service Public API","version":"1"}}`, true},
		"another title": {200, `{"info":{"title":"Pet Store","version":"1"}}`, false},
		"a version 2":   {200, `{"info":{"title":"Service Public API","version":"2"}}`, false},
		"a page":        {200, page, false},
		"nothing":       {200, ``, false},
		"not there":     {404, page, false},
		"forbidden":     {403, page, false},
		"elsewhere":     {302, ``, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			asked := make(chan *http.Request, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r
				if r.URL.Path != "/v1/openapi.json" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Location", "https://elsewhere.example")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			t.Cleanup(server.Close)
			api := dial(t, server.URL+"/v1/", "key")
			for range 2 {
				_, err := api.GetOrder(t.Context(), uuid.New())
				is.Equal(errors.Is(err, client.ErrContract), !test.right)
				is.True(test.right || strings.Contains(err.Error(), server.URL+"/v1/openapi.json"))
				is.Equal(errors.Is(api.Verify(t.Context()), client.ErrContract), !test.right)
			}
			close(asked)
			documents := 0
			for r := range asked {
				if r.URL.Path == "/v1/openapi.json" {
					is.Equal(r.Header.Get("Authorization"), "")
					documents++
					continue
				}
				is.True(test.right)
				is.Equal(r.Header.Get("Authorization"), "Bearer key")
			}
			is.True(documents == 1 || !test.right)
		})
	}
}

// roundTrip is a function as an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const document = `{"info":{"title":"Service Public API","version":"1"}}`

// A temporary failure to read the document is retried like any other read and is not ErrContract. The next call
// requests the document again.
func TestContractIsAskedForAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		var faults []fault
		api, err := client.New("http://tickets.example", "key", &client.Config{
			Attempts: 3, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if len(faults) == 0 {
					return made(200, "", document), nil
				}
				become := faults[0]
				faults = faults[1:]
				return become(r, func() *http.Response { return made(200, "", document) })
			}),
		})
		is.NoErr(err)
		faults = []fault{unreached, instead(503, "", ""), limited(1)}
		err = api.Verify(t.Context())
		is.True(errors.Is(err, ticketing.CodeRateLimited) && !errors.Is(err, client.ErrContract))
		faults = []fault{cut, cut, cut}
		err = api.Verify(t.Context())
		is.True(err != nil && !errors.Is(err, client.ErrContract) && !errors.Is(err, client.ErrAmbiguous))
		faults = []fault{endless}
		is.True(errors.Is(api.Verify(t.Context()), client.ErrContract))
		faults = []fault{says(`{"info":{"title":"Pet Store","version":"7"}}`)}
		err = api.Verify(t.Context())
		is.True(errors.Is(err, client.ErrContract))
		is.True(strings.Contains(err.Error(), `"Pet Store"`) && strings.Contains(err.Error(), `"7"`))
		faults = []fault{unreached, lost}
		is.NoErr(api.Verify(t.Context()))
		faults = []fault{unreached}
		is.NoErr(api.Verify(t.Context())) // The result was kept.
		is.Equal(len(faults), 1)
	})
}

// Concurrent first calls share one request for the document. The request ends with the last call that waits for it, not
// with the first, and its failure ends the attempts of no call.
func TestFirstCallsShareTheQuestion(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		const callers = 20
		questions, given := make(chan *http.Request, callers*callers), make(chan fault)
		api, err := client.New("http://tickets.example", "key", &client.Config{
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				questions <- r
				select {
				case become := <-given:
					return become(r, nil)
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}),
		})
		is.NoErr(err)
		type answer struct {
			caller int
			err    error
		}
		answers := make(chan answer, callers)
		begin := func() []context.CancelFunc {
			var ends []context.CancelFunc
			for i := range callers {
				ctx, end := context.WithCancel(t.Context())
				ends = append(ends, end)
				go func() { answers <- answer{i, api.Verify(ctx)} }()
				synctest.Wait()
			}
			return ends
		}

		// All leave: the request ends, and a later call sends a new one.
		for _, end := range begin() {
			end()
		}
		for range callers {
			is.True(errors.Is((<-answers).err, context.Canceled))
		}
		synctest.Wait()
		is.Equal(len(questions), 1)
		is.True((<-questions).Context().Err() != nil)

		// The first leaves, the others stay. They succeed after one failure.
		ends := begin()
		ends[0]()
		first := <-answers
		is.Equal(first.caller, 0)
		is.True(errors.Is(first.err, context.Canceled))
		is.Equal(len(questions), 1)
		is.NoErr((<-questions).Context().Err())
		given <- instead(503, "", "")
		synctest.Wait()
		time.Sleep(client.DefaultFirstWait) // on the bubble's clock: each of them retries
		synctest.Wait()
		is.Equal(len(questions), 1)
		given <- says(document)
		for range callers - 1 {
			is.NoErr((<-answers).err)
		}
		is.Equal(len(questions), 1)
		is.NoErr(api.Verify(t.Context()))
		is.Equal(len(questions), 1)
		for _, end := range ends {
			end()
		}
	})
}

// A call does not join a request that no other call waits for, however long it takes to end, and its end affects no
// other.
func TestQuestionsThatLinger(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		questions := make(chan chan string, 10)
		api, err := client.New("http://tickets.example", "key", &client.Config{
			Attempts: 1, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				answer := make(chan string)
				questions <- answer
				return made(200, "", <-answer), nil // A transport that ignores the context.
			}),
		})
		is.NoErr(err)
		verify := func(ctx context.Context) chan error {
			told := make(chan error, 1)
			go func() { told <- api.Verify(ctx) }()
			synctest.Wait()
			return told
		}
		ctx, leave := context.WithCancel(t.Context())
		left := verify(ctx)
		leave()
		is.True(errors.Is(<-left, context.Canceled))
		second := verify(t.Context())
		is.Equal(len(questions), 2)
		(<-questions) <- `{}`
		synctest.Wait()
		third := verify(t.Context())
		is.Equal(len(questions), 1) // The request of the second call, which the third shares.
		(<-questions) <- document
		is.NoErr(<-second)
		is.NoErr(<-third)
		is.Equal(len(questions), 0)
	})
}
