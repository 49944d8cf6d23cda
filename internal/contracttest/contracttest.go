// Package contracttest checks the API's responses in tests against the contract's document, the openapi.json that the
// service serves. It checks status, headers, body and code, and the rules that hold for every response. A test that
// needs a server of the API creates it with [New]. A test that starts a program calls it through [Transport]. A test
// that uses its own connection checks what it reads with [Hold]. The other functions are for the tests of the document
// itself.
package contracttest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// New returns the handler of [httpapi.New] with a check of every response. fail, a test's Error, is called with each
// violation.
func New(fail func(...any), svc *ticketing.Service, config *httpapi.Config) http.Handler {
	handler, prefix := httpapi.New(svc, config), PrefixOf(config)
	var holds sync.Map // The same response to the same request is checked once.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		a := Answer{Status: recorder.Code, Header: recorder.Result().Header, Body: recorder.Body.String()}
		if r.Method == http.MethodHead {
			a.Body = "" // net/http omits it.
		}
		if _, known := holds.LoadOrStore(fmt.Sprint(r.Method, r.URL, a.Status, a.Header, a.Body), true); !known {
			if err := Held(prefix, r, a, true); err != nil {
				fail(wrong(r, a, err))
			}
		}
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
	})
}

// Panic is the fail function for an example, which has no test to report to.
func Panic(told ...any) { panic(fmt.Sprint(told...)) }

// Transport returns a transport that forwards requests to next, and checks the responses to those for which isAPI
// returns true. If isAPI is nil, these are the requests below [httpapi.DefaultPrefix].
func Transport(fail func(...any), next http.RoundTripper, isAPI func(*http.Request) bool) http.RoundTripper {
	if isAPI == nil {
		isAPI = func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path+"/", httpapi.DefaultPrefix+"/") }
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && isAPI(r) {
			Hold(fail, r, response)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends one request.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Hold checks a response of an API below [httpapi.DefaultPrefix], and leaves its body to be read. For a request that
// the server could not read, r is the zero Request. Hold ignores a response that breaks off.
func Hold(fail func(...any), r *http.Request, response *http.Response) {
	body, broken := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), &ending{broken}))
	if broken != nil {
		return
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Body: string(body)}
	err := Held(httpapi.DefaultPrefix, r, a, true)
	if err == nil && !response.Uncompressed {
		err = a.Measured(r.Method)
	}
	if err != nil {
		fail(wrong(r, a, err))
	}
}

// ending is the end of a body. It returns the result of the first read.
type ending struct{ err error }

// Read returns no data.
func (e *ending) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// wrong returns an error that contains the request and its invalid response.
func wrong(r *http.Request, a Answer, err error) error {
	return fmt.Errorf("%s %s: %w\n%v", r.Method, r.URL, err, a)
}

// PrefixOf returns the prefix of a handler with this config, without a slash at its end.
func PrefixOf(config *httpapi.Config) string {
	prefix := httpapi.DefaultPrefix
	if config != nil {
		prefix = cmp.Or(config.Prefix, prefix)
	}
	return strings.TrimRight(prefix, "/")
}
